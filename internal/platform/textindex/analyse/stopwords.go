package analyse

import "strings"

// The words that say nothing about what a text is on. They are left out of the
// body of a passage, and out of a query that has others. Words that ask are
// among them: what they ask for is read apart, by Asks.
//
//nolint:misspell // words of other languages
var stopWords = map[Language]map[string]bool{
	English: wordSet(`a an the is are was were be been being am do does did doing done can could will would should
		shall may might must of to in on at by for from with about into onto over under between through during
		and or but nor not no so as if than then that this these those it its it's i you he she we they me him her
		us them my your his our their mine yours what which who whom whose when where why how please tell there here
		have has had having s t d ll re ve m don doesn isn aren won didn just also very too any some such own same
		each other because until while again once only both all more most while up down out off per let get gets got
		us anyone someone somebody anybody everybody one ones i'm if`),
	French: wordSet(`le la les l un une des du de d au aux en et ou où mais donc or ni car que qu qui quoi dont quel
		quelle quels quelles quand comment pourquoi combien est es suis sommes êtes sont était étaient étais être
		été sera seront soit a ai as avons avez ont avait avaient avoir aura auront eu ce cet cette ces c ça cela
		ceci il elle ils elles on nous vous je j tu me m te t se s lui leur leurs y mon ma mes ton ta tes son sa ses
		notre nos votre vos ne n pas plus moins très dans par pour sur sous avec sans chez vers entre depuis
		pendant avant après si aussi même mêmes tout toute tous toutes autre autres peut peuvent peux pouvez dois
		doit doivent faut fait faire font y là ici comme alors puis quoi lequel laquelle est-ce auquel duquel`),
	Spanish: wordSet(`el la los las lo un una unos unas de del al a en y e o u ni que qué quien quién quienes quiénes
		cual cuál cuales cuáles cuando cuándo donde dónde como cómo cuanto cuánto cuanta cuánta cuantos cuántos
		cuantas cuántas por para con sin sobre entre hasta desde hacia según durante es son era eran fue fueron ser
		sido sea sean está están estaba estaban estar he ha han has hemos había habían haber hay hubo se me te le
		les nos os mi mis tu tus su sus nuestro nuestra nuestros nuestras este esta esto estos estas ese esa eso
		esos esas aquel aquella aquello yo tú él ella ello ellos ellas usted ustedes nosotros no sí si ya más menos
		muy también tampoco pero sino porque pues cada todo toda todos todas otro otra otros otras mismo misma
		puede pueden puedo podemos debe deben tiene tienen tengo`),
	Portuguese: wordSet(`o a os as um uma uns umas de do da dos das em no na nos nas ao aos à às e ou nem que quê quem
		qual quais quando onde como quanto quanta quantos quantas por pelo pela pelos pelas para pra com sem sobre
		entre até desde é são era eram foi foram ser sido seja sejam está estão estava estavam estar há havia haver
		tem têm tinha tinham ter se me te lhe lhes nos vos meu minha meus minhas teu tua seu sua seus suas nosso
		nossa nossos nossas este esta isto estes estas esse essa isso esses essas aquele aquela aquilo eu tu ele ela
		eles elas você vocês nós não sim já mais menos muito também mas porque pois cada todo toda todos todas outro
		outra outros outras mesmo mesma pode podem posso podemos deve devem num numa dum duma lo la`),
	Swahili: wordSet(`na ya wa za la cha vya pa kwa ni si au lakini kama ili kuwa kwamba katika kutoka hadi mpaka
		hii hiyo hizo hizi huo huu hao hawa hicho hiki hivyo hivi hapo hapa huko huku ile yale wale lile zile vile kile
		yule yeye mimi wewe sisi ninyi nyinyi wao ambao ambayo ambazo ambaye nini nani gani lini wapi vipi je kwanini
		mbona ngapi yangu yako yake yetu yenu yao wangu wako wake wetu wenu wao langu lako lake zangu zako zake zetu zao
		changu chako chake vyake pia tu sana bado tena kila yote wote zote vyote lote pamoja baada kabla wakati
		mwa ndani juu chini bila hata basi ndiyo hapana ndio`),
	Arabic: wordSet(`في من إلى على عن مع هذا هذه ذلك تلك هؤلاء التي الذي الذين اللذين ما ماذا متى أين كيف لماذا كم هل
		أي أية هو هي هم هن أنا نحن أنت أنتم كان كانت كانوا يكون تكون ليس ليست لا لم لن قد لقد و أو ثم بل لكن إن أن إذا
		كل بعض غير بين قبل بعد عند حتى منذ خلال أيضا فقط به له لها لهم فيه فيها منه منها عليه عليها إلا حيث كما
		الى او ان اذا انا اين اي يتم تم من هناك هنا يا لدى ضمن وهو وهي وفي ومن وعلى`),
	Hindi: wordSet(`का के की को में से पर है हैं था थे थी थीं हो होता होती होते हुआ हुई हुए और या एक यह ये वह वे इस
		उस इन उन इसे उसे इनके उनके इसका उसका इसके उसके इसकी उसकी जो जिस जिसे कि तो भी ही नहीं न ने तक लिए साथ द्वारा
		क्या कौन कब कहाँ कहां क्यों कैसे कितना कितने कितनी किस किसे किसका किसके कौनसा अपने अपना अपनी मैं हम तुम आप
		मेरा मेरी मेरे हमारा हमारे हमारी आपका आपके आपकी कर करना करने करता करती करते किया गया गई गए जाता जाती जाते
		रहा रही रहे सकता सकती सकते चाहिए बारे अगर लेकिन फिर बहुत कुछ सब सभी बाद पहले`),
}

func wordSet(list string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(list) {
		set[lower(w)] = true
	}
	return set
}

// isStop reports whether a word in small letters says nothing in a language. A
// text in a language that is not known keeps all its words.
func isStop(language Language, w string) bool { return stopWords[language][w] }
