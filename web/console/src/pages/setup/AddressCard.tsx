import type { ReactNode } from "react";
import { CopyButton } from "../../shell/CopyButton";
import { Problem } from "../../shell/Problem";
import { Say, say } from "../../words";
import { useLook } from "../operator/api";
import type { Settings } from "../operator/settings";
import { addressOf } from "./address";

/** Where people find the deployment, whether they come by HTTPS, and what is to be written for both. */
export function AddressCard() {
  const { data, error } = useLook<Settings>("/operator/settings", 60_000);
  const address = data && addressOf(data.settings, location);
  const code = (inside: ReactNode) => <code>{inside}</code>;
  return (
    <section className="card stack" aria-label={say("setup.address")}>
      <h2>{say("setup.address")}</h2>
      <Problem error={error} />
      {address && (
        <>
          <p>
            {address.told ? (
              <Say
                id="setup.addressTold"
                values={{ address: address.told, setting: address.by }}
                tags={{ code }}
              />
            ) : (
              say("setup.addressUntold")
            )}{" "}
            {address.told && !address.isSame && (
              <Say id="setup.addressHere" values={{ address: location.origin }} tags={{ code }} />
            )}
          </p>
          <p className={address.isHttps || address.isHere ? "good" : "bad"}>
            {say(
              address.isHttps
                ? "setup.httpsCame"
                : address.isHere
                  ? "setup.httpsLocal"
                  : "setup.httpsMissing",
            )}
          </p>
          {address.ways.map(({ settings, isOwn }) => (
            <div key={settings[0]} className="stack">
              <p>
                {say(isOwn ? "setup.wayOwn" : address.isHttps ? "setup.wayTell" : "setup.wayProxy")}
              </p>
              <p className="with-copy">
                <code className="setting">{settings.join("\n")}</code>{" "}
                <CopyButton
                  text={settings.join("\n")}
                  label={say("setup.copySetting", { name: settings[0]?.split("=")[0] ?? "" })}
                />
              </p>
            </div>
          ))}
          <p className="soft small">{say("setup.addressLater")}</p>
          <p>
            <a href="/guides/operations#https-by-itself">{say("setup.addressGuide")}</a>
          </p>
        </>
      )}
    </section>
  );
}
