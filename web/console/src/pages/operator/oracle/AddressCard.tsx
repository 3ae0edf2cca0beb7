import { useState, type FormEvent } from "react";
import { useSession } from "../../../identity/session";
import { useDoing } from "../../../shell/asked";
import { Problem } from "../../../shell/Problem";
import { Say, say } from "../../../words";
import { ask, useLook } from "../api";
import { code } from "../parts";
import {
  addressPath,
  addressText,
  certificateOf,
  comingOf,
  typedOf,
  waitsOf,
  type Address,
  type Typed,
} from "./address";
import { documentPath, over, type StoredText } from "./choices";
import { RuledBy } from "./parts";

const path = documentPath("address");
const example = "oracle.example.org";
const exampleUrl = `https://${example}`;

/** Where people find the deployment, and the names that it gets certificates for, to be chosen. */
export function AddressCard({ mayChange }: { mayChange: boolean }) {
  const session = useSession();
  const now = useLook<Address>(addressPath, 5000);
  const stored = useLook<StoredText>(path, 15_000);
  const [changed, setChanged] = useState<Partial<Typed>>({});
  const [isKept, setKept] = useState(false);
  const { run, isBusy, error } = useDoing([]);
  const { data: address } = now;
  const isHeld = !mayChange || !stored.data || stored.data.readOnly;
  const inForce = address && typedOf(address);
  const typed = { url: "", names: "", ...inForce, ...changed };
  const isChanged = inForce && addressText(typed) !== addressText(inForce);
  const coming = comingOf(location);
  const field = (name: keyof Typed) => ({
    dir: "ltr",
    autoComplete: "off",
    disabled: isBusy,
    value: typed[name],
    onChange: (event: { target: { value: string } }) => {
      setChanged({ ...changed, [name]: event.target.value });
      setKept(false);
    },
  });
  function keep(event: FormEvent) {
    event.preventDefault();
    const before = stored.data;
    if (!before) return;
    run(async () => {
      await ask(session, path, "PUT", { text: addressText(typed) }, over(before.newest));
      setChanged({});
      setKept(true);
    });
  }
  return (
    <section className="card stack" aria-label={say("choices.address")}>
      <h2>{say("choices.address")}</h2>
      <Problem error={error || now.error || stored.error} />
      {address && (
        <>
          <p>
            {address.url ? (
              <Say id="choices.addressTold" values={{ address: address.url }} tags={{ code }} />
            ) : (
              say("choices.addressUntold")
            )}{" "}
            {address.url && address.url !== location.origin && (
              <Say id="choices.addressHere" values={{ address: location.origin }} tags={{ code }} />
            )}
          </p>
          <p className={coming.isWell ? "good" : "bad"}>{say(coming.words)}</p>
          {address.names.length > 0 && (
            <ul className="plain small">
              {address.names.map((one) => (
                <li key={one.name} className={one.problem ? "bad" : ""}>
                  {certificateOf(one)}
                </li>
              ))}
            </ul>
          )}
          {address.problem && (
            <p className="bad" dir="auto">
              {address.problem}
            </p>
          )}
          {waitsOf(address).map((sentence) => (
            <p key={sentence} className="notice">
              {sentence}
            </p>
          ))}
          {stored.data && <RuledBy ruled={stored.data} />}
          {!isHeld && (
            <form className="stack" onSubmit={keep}>
              <label>
                {say("choices.addressUrl")}
                <input
                  type="url"
                  maxLength={500}
                  translate="no"
                  placeholder={exampleUrl}
                  {...field("url")}
                />
              </label>
              <label>
                {say("choices.addressNames")}
                <input maxLength={4000} translate="no" placeholder={example} {...field("names")} />
              </label>
              <p className="soft small">{say("choices.addressNamesHint")}</p>
              <p className="row">
                <button type="submit" disabled={isBusy || !isChanged}>
                  {say("choices.keep")}
                </button>
                <span role="status">{isKept && say("choices.kept")}</span>
              </p>
            </form>
          )}
          {!coming.isWell && (
            <p className="soft small">
              <Say
                id="choices.addressProxy"
                values={{ setting: "TRUST_PROXY_ENABLED=true" }}
                tags={{ code }}
              />
            </p>
          )}
          <p>
            <a href="/guides/operations#https-by-itself">{say("choices.addressGuide")}</a>
          </p>
        </>
      )}
    </section>
  );
}
