import { useState } from "react";
import { duration, number } from "../../../shell/format";
import { Problem } from "../../../shell/Problem";
import { Skeleton } from "../../../shell/Skeleton";
import { say } from "../../../words";
import { useLook } from "../api";
import { titlesOf, type MenuGraph } from "../layout";
import { Figure } from "../parts";
import { FormsCard } from "./FormsCard";
import {
  completionOf,
  gatewayOf,
  moneyOf,
  ranges,
  spendOf,
  type Figures,
  type Range,
} from "./phones";
import "./phones.css";

/** How often figures are asked for again. */
const often = 60_000;

/** How the telephone is used and answered, and what callers sent as forms. */
export default function PhonesView() {
  const [range, setRange] = useState<Range>(7);
  const { data, error } = useLook<Figures>(`/operator/ussd/figures?days=${range}`, often);
  return (
    <div className="stack phones" aria-busy={!data && !error}>
      <div className="row phones-range">
        <label>
          {say("phones.range")}
          <select
            value={range}
            onChange={(event) =>
              setRange(ranges.find((n) => String(n) === event.target.value) ?? 7)
            }
          >
            {ranges.map((n) => (
              <option key={n} value={n}>
                {say("phones.lastDays", { days: n })}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Problem error={error} />
      {!data && !error && <Skeleton lines={8} label={say("phones.counting")} />}
      {data && <Shown figures={data} />}
      <FormsCard />
    </div>
  );
}

function Shown({ figures }: { figures: Figures }) {
  const { sessions, messages, spend } = figures;
  const sent = messages.reduce((sum, one) => sum + one.messages, 0);
  return (
    <>
      <dl className="figures">
        <Figure label={say("phones.begun")} value={number(sessions.begun)} />
        <Figure label={say("phones.completed")} value={number(sessions.completed)} />
        <Figure label={say("phones.left")} value={number(sessions.left)} />
        <Figure label={say("phones.completion")} value={completionOf(sessions)} />
        <Figure label={say("phones.messages")} value={number(sent)} />
        <Figure label={say("phones.spend")} value={spendOf(spend)} />
      </dl>
      <div className="grid">
        <Drops drops={figures.drops} />
        <Gateways gateways={figures.gateways} />
        <Refusals refusals={figures.refusals} />
        <Messages messages={messages} />
      </div>
    </>
  );
}

function Drops({ drops }: Pick<Figures, "drops">) {
  const titles = titlesOf(useLook<MenuGraph>("/operator/ussd/graph", often).data);
  return (
    <section className="card stack" aria-label={say("phones.drops")}>
      <h2>{say("phones.drops")}</h2>
      {drops.length === 0 && <p className="soft">{say("phones.noDrops")}</p>}
      {drops.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">{say("phones.screen")}</th>
              <th scope="col" className="number">
                {say("phones.left")}
              </th>
            </tr>
          </thead>
          <tbody>
            {drops.map(({ screen, left }) => (
              <tr key={screen}>
                <td className="path-cell" dir="auto" title={screen}>
                  {titles.get(screen) ?? screen}
                </td>
                <td className="number">{number(left)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Gateways({ gateways }: Pick<Figures, "gateways">) {
  return (
    <section className="card stack" aria-label={say("phones.gateways")}>
      <h2>{say("phones.gateways")}</h2>
      <p className="soft small">{say("phones.gatewaysHint")}</p>
      {gateways.length === 0 && <p className="soft">{say("phones.noGateways")}</p>}
      {gateways.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">{say("phones.gateway")}</th>
              <th scope="col" className="number">
                {say("phones.requests")}
              </th>
              <th scope="col" className="number">
                {say("phones.p95")}
              </th>
              <th scope="col" className="number wide-only">
                {say("phones.refused")}
              </th>
              <th scope="col" className="number wide-only">
                {say("phones.failed")}
              </th>
            </tr>
          </thead>
          <tbody>
            {gateways.map((one) => (
              <tr key={one.dialect}>
                <td className="path-cell">
                  <span dir="ltr">{gatewayOf(one.dialect)}</span>
                  {one.refused + one.failed > 0 && (
                    <span className="soft small narrow-only">
                      {say("phones.trouble", { refused: one.refused, failed: one.failed })}
                    </span>
                  )}
                </td>
                <td className="number">{number(one.requests)}</td>
                <td className="number">{duration(one.p95Ms / 1000)}</td>
                <td className="number wide-only">{number(one.refused)}</td>
                <td className="number wide-only">{number(one.failed)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Refusals({ refusals }: Pick<Figures, "refusals">) {
  return (
    <section className="card stack" aria-label={say("phones.refusals")}>
      <h2>{say("phones.refusals")}</h2>
      <p className="soft small">{say("phones.refusalsHint")}</p>
      {refusals.length === 0 && <p className="soft">{say("phones.noRefusals")}</p>}
      {refusals.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">{say("phones.fieldAndRule")}</th>
              <th scope="col" className="number">
                {say("phones.count")}
              </th>
            </tr>
          </thead>
          <tbody>
            {refusals.map(({ dialect, field, rule, count }) => (
              <tr key={`${dialect} ${field} ${rule}`}>
                <td className="path-cell">
                  <strong dir="ltr">{field}</strong> <span dir="auto">{rule}</span>
                  <span className="soft small block" dir="ltr">
                    {gatewayOf(dialect)}
                  </span>
                </td>
                <td className="number">{number(count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Messages({ messages }: Pick<Figures, "messages">) {
  return (
    <section className="card stack" aria-label={say("phones.messages")}>
      <h2>{say("phones.messages")}</h2>
      {messages.length === 0 && <p className="soft">{say("phones.noMessages")}</p>}
      {messages.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">{say("phones.kind")}</th>
              <th scope="col" className="number">
                {say("phones.count")}
              </th>
              <th scope="col" className="number wide-only">
                {say("phones.parts")}
              </th>
              <th scope="col" className="number">
                {say("phones.cost")}
              </th>
            </tr>
          </thead>
          <tbody>
            {messages.map((one) => (
              <tr key={`${one.kind} ${one.state} ${one.currency ?? ""}`}>
                <td>
                  {say("phones.messageKind", { kind: one.kind })}
                  <span className="soft small block">
                    {say("phones.messageState", { state: one.state })}
                  </span>
                </td>
                <td className="number">{number(one.messages)}</td>
                <td className="number wide-only">{number(one.parts)}</td>
                <td className="number">{moneyOf(one.cost, one.currency)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
