package analyse

import "strings"

// Forms that no ending explains, led back to the word that stemmers know. Each
// list has "base: forms" lines.
var (
	englishForms = formsOf(`
		pay: paid; buy: bought; sell: sold; bring: brought; teach: taught; think: thought; catch: caught; seek: sought
		child: children; man: men; woman: women; person: people persons; foot: feet; tooth: teeth; mouse: mice; goose: geese
		knife: knives; wife: wives; life: lives; leaf: leaves; half: halves; shelf: shelves; loaf: loaves; calf: calves
		meet: met; hold: held; keep: kept; leave: left; lose: lost; send: sent; spend: spent; lend: lent; build: built
		make: made making; take: took taken taking; give: gave given giving; write: wrote written writing; drive: drove driven driving
		choose: chose chosen choosing; speak: spoke spoken; break: broke broken; begin: began begun; drink: drank drunk; swim: swam
		run: ran; come: came coming; become: became; go: went gone goes going; see: saw seen; know: knew known; grow: grew grown
		throw: threw thrown; fly: flew flown flies; draw: drew drawn; eat: ate eaten; fall: fell fallen; feel: felt; find: found
		fight: fought; forget: forgot forgotten; freeze: froze frozen; hear: heard; lay: laid; lead: led; mean: meant
		ride: rode ridden; rise: rose risen; ring: rang rung; say: said says; shake: shook; shoot: shot; sing: sang sung; sit: sat
		sleep: slept; stand: stood; steal: stole stolen; strike: struck; swear: swore; sweep: swept; tear: tore torn; tell: told
		understand: understood; wake: woke; wear: wore worn; win: won; feed: fed; breed: bred; bleed: bled; dig: dug
		hang: hung; hide: hid hidden; sow: sown; sew: sewn; bear: bore borne; bite: bit bitten; blow: blew blown
		good: better best; bad: worse worst; choice: choices; decide: decision decisions; die: dying dies died death deaths
		elect: election elections elected; choose: choice choices; apply: application applications; repay: repaid
		receive: receipt; grow: growth; weigh: weight weights; lose: loss losses; sell: sale sales; advise: advice
		repair: repairs; maintain: maintenance; permit: permission; open: opening opens opened; arrive: arrival
		high: height; long: length; wide: width; deep: depth; strong: strength; hot: heat; dry: drought`)
	frenchForms = formsOf(`
		oeil: yeux; travail: travaux; animal: animaux; journal: journaux; hôpital: hôpitaux; local: locaux; canal: canaux
		cheval: chevaux; oeuf: oeufs œuf œufs; ciel: cieux; prix: prix
		payer: paie paient paye payent payé payée payés paiement paiements payement; vendre: vend vendent vendu vendue vendus vente ventes
		ouvrir: ouvre ouvrent ouvert ouverte ouverts ouvertes ouverture ouvertures; acheter: achète achètent achat achats
		prendre: prend prennent pris prise; mettre: met mettent mis mise; venir: vient viennent venu venue; tenir: tient tiennent tenu tenue
		recevoir: reçoit reçoivent reçu reçue reçus; devoir: dû due; pouvoir: pu; savoir: sait savent su; voir: voit voient vu vue
		boire: boit boivent bu; lire: lit lisent lu lue; écrire: écrit écrite écrivent; dire: dit dite disent; élire: élit élu élue élus élection élections
		choisir: choisit choisi choisie choix; perdre: perd perdu perdue perte pertes; rendre: rend rendu rendue; naître: naît né née naissance
		mourir: meurt mort morte décès; partir: part partent départ départs; réunir: réunit réunissent réuni réunion réunions
		aller: va vont allé; fermer: ferme fermé fermée fermeture; nourrir: nourrit nourri nourriture; prêter: prêt prêts prête
		emprunter: emprunt emprunts; semer: semis semence semences; arriver: arrivée arrivées; livrer: livraison livraisons`)
	spanishForms = formsOf(`
		pagar: pago pagos paga pagan pagué pague; comprar: compra compras; vender: venta ventas vende vendido
		abrir: abre abren abierto abierta abiertos abiertas apertura; cerrar: cierra cierran cerrado cerrada cierre
		decir: dice dicen dijo dicho; hacer: hace hacen hizo hecho hecha; poner: pone ponen puso puesto puesta; ver: ve ven visto vio
		escribir: escribe escrito escrita; volver: vuelve vuelto; romper: rompe roto rota; morir: muere murió muerto muerta muerte
		dar: da dan dio dado; ir: va van fue; venir: viene vienen vino; traer: trae traen trajo; elegir: elige eligen eligió elegido elección elecciones
		pedir: pide piden pidió pedido; perder: pierde pierden perdió pérdida; empezar: empieza empiezan empezó; comenzar: comienza comienzan comienzo
		sembrar: siembra siembran siembras; regar: riega riegan riego; contar: cuenta cuentan; costar: cuesta cuestan costó costo costos coste
		prestar: presta prestan préstamo préstamos; llegar: llega llegan llegada; salir: sale salen salida salidas
		reunir: reúne reúnen reunión reuniones; dormir: duerme durmió; jugar: juega juego; probar: prueba; mover: mueve
		recoger: recoge recogida; nacer: nace nació nacimiento; devolver: devuelve devuelto; almorzar: almuerzo`)
	portugueseForms = formsOf(`
		pagar: paga pago pagam pague pagamento pagamentos; comprar: compra compras; vender: venda vendas vende vendido
		abrir: abre abrem aberto aberta abertos abertas abertura; fechar: fecha fecham fechado fechada; dizer: diz dizem disse dito
		fazer: faz fazem fez feito feita; pôr: põe põem pôs posto posta; ver: vê veem visto viu; escrever: escreve escrito escrita
		morrer: morre morreu morto morta morte; dar: dá dão deu dado; ir: vai vão; vir: vem vêm veio; trazer: traz trazem trouxe
		eleger: elege elegeu eleito eleita eleição eleições; perder: perde perdeu perda; pedir: pede pedem pediu pedido
		custar: custa custam custo custos; emprestar: empresta empréstimo empréstimos; chegar: chega chegam chegada
		sair: sai saem saída saídas; reunir: reúne reúnem reunião reuniões; começar: começa começam começo; semear: semeia semente sementes
		nascer: nasce nasceu nascimento; devolver: devolve devolvido devolução; colher: colhe colhem colheita colheitas
		animal: animais; hospital: hospitais; papel: papéis; homem: homens; mão: mãos; pão: pães; mês: meses; leitão: leitões`)
)

func formsOf(list string) map[string]string {
	forms := make(map[string]string)
	for line := range strings.SplitSeq(list, "\n") {
		for entry := range strings.SplitSeq(line, ";") {
			base, others, ok := strings.Cut(strings.TrimSpace(entry), ":")
			if !ok {
				continue
			}
			for form := range strings.FieldsSeq(others) {
				forms[form] = base
			}
		}
	}
	return forms
}
