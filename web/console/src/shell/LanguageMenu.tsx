import { chooseLanguage, languageNow, languages, say } from "../words";

/** The language of the console, each by its own name. Nothing to choose from is no menu. */
export function LanguageMenu(props: {
  offered?: typeof languages;
  onChoose?: (code: string) => void;
}) {
  const { offered = languages, onChoose = chooseLanguage } = props;
  const now = languageNow();
  const isAmong = offered.some(({ code }) => code === now);
  if (offered.length < 2 && isAmong) return null;
  return (
    <label className="language">
      {say("shell.language")}
      <select value={now} translate="no" onChange={(event) => onChoose(event.target.value)}>
        {!isAmong && <option value={now}>{now}</option>}
        {offered.map(({ code, name, reviewed }) => (
          <option key={code} value={code} lang={code}>
            {reviewed ? name : say("shell.draft", { name })}
          </option>
        ))}
      </select>
    </label>
  );
}
