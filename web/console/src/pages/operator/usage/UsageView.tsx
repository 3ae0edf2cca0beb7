import { useState } from "react";
import { CopyButton } from "../../../shell/CopyButton";
import { useFeatures } from "../../../shell/features";
import { number, short } from "../../../shell/format";
import { Problem } from "../../../shell/Problem";
import { Skeleton } from "../../../shell/Skeleton";
import { say } from "../../../words";
import { useLook } from "../api";
import { Figure } from "../parts";
import { Picture } from "./Picture";
import {
  costOf,
  lastDays,
  lastMonths,
  measures,
  monthName,
  ranges,
  seriesOf,
  sumsPath,
  type Credits,
  type Range,
  type Spenders,
  type Split,
  type Sums,
} from "./usage";
import "./usage.css";

/** How often sums are asked for again. */
const often = 60_000;

/** What was said, what it cost, by which way it came, and who spent most: numbers alone. */
export default function UsageView() {
  const { services } = useFeatures();
  const [range, setRange] = useState<Range>(30);
  const [split, setSplit] = useState<Split>("source");
  const [isTable, setTable] = useState(false);
  const days = lastDays(range);
  const { data, error } = useLook<Sums>(sumsPath(days, split), often);
  return (
    <div className="stack usage">
      <p className="soft">{say("usage.what")}</p>
      <div className="row usage-bar">
        <label>
          {say("usage.range")}
          <select
            value={range}
            onChange={(event) =>
              setRange(ranges.find((n) => String(n) === event.target.value) ?? 30)
            }
          >
            {ranges.map((n) => (
              <option key={n} value={n}>
                {say("usage.lastDays", { days: n })}
              </option>
            ))}
          </select>
        </label>
        <label>
          {say("usage.split")}
          <select
            value={split}
            onChange={(event) => setSplit(event.target.value === "model" ? "model" : "source")}
          >
            <option value="source">{say("usage.byChannel")}</option>
            <option value="model">{say("usage.byModel")}</option>
          </select>
        </label>
        <label className="choice">
          <input
            type="checkbox"
            checked={isTable}
            onChange={(event) => setTable(event.target.checked)}
          />
          {say("usage.showNumbers")}
        </label>
      </div>
      <Problem error={error} />
      {!data && !error && <Skeleton lines={8} label={say("usage.reading")} />}
      {data && (
        <>
          <dl className="figures">
            <Figure label={say("usage.messages")} value={number(data.total.messages)} />
            <Figure label={say("usage.requests")} value={number(data.total.calls)} />
            <Figure label={say("usage.failed")} value={number(data.total.failed)} />
            <Figure label={say("usage.tokensRead")} value={number(data.total.inputTokens)} />
            <Figure label={say("usage.tokensWritten")} value={number(data.total.outputTokens)} />
            <Figure label={say("usage.cost")} value={costOf(data.total.costMicros)} />
          </dl>
          <div className="grid pictures">
            {measures.map(({ title, of, text }) => (
              <Picture
                key={title}
                title={say(title)}
                days={days}
                series={seriesOf(data.usage, days, split, of)}
                text={text}
                isTable={isTable}
              />
            ))}
            {services.includes("ussd") && <Telephones days={days} isTable={isTable} />}
            <CreditPictures days={days} isTable={isTable} />
          </div>
        </>
      )}
      <SpendersCard />
    </div>
  );
}

/** A line of numbers from those of some days. */
function lineOf(
  days: readonly string[],
  found: readonly { day: string }[],
  of: (day: string) => number,
) {
  const known = new Set(found.map(({ day }) => day));
  return [{ name: "", values: days.map((day) => (known.has(day) ? of(day) : 0)) }];
}

function Telephones({ days, isTable }: { days: readonly string[]; isTable: boolean }) {
  const { data, error } = useLook<{ days: { day: string; begun: number }[] }>(
    `/operator/ussd/days?days=${days.length}`,
    often,
  );
  if (!data) return <Problem error={error} />;
  const begun = new Map(data.days.map((one) => [one.day, one.begun]));
  return (
    <Picture
      title={say("usage.telephonePerDay")}
      days={days}
      series={lineOf(days, data.days, (day) => begun.get(day) ?? 0)}
      text={(n) => number(n)}
      isTable={isTable}
    />
  );
}

/** What accounts were granted and spent, where turns cost credits. */
function CreditPictures({ days, isTable }: { days: readonly string[]; isTable: boolean }) {
  const range = new URLSearchParams({ from: days[0] ?? "", to: days.at(-1) ?? "" });
  const { data, error } = useLook<Credits>(`/operator/usage/credits?${range}`, often);
  if (!data) return <Problem error={error} />;
  if (!data.on) return null;
  const known = new Map(data.credits.map((one) => [one.day, one]));
  return (["granted", "spent"] as const).map((what) => (
    <Picture
      key={what}
      title={say(what === "granted" ? "usage.grantedPerDay" : "usage.spentPerDay")}
      days={days}
      series={lineOf(days, data.credits, (day) => known.get(day)?.[what] ?? 0)}
      text={(n) => number(n)}
      isTable={isTable}
    />
  ));
}

/** How many months may be chosen. */
const months = 12;

function SpendersCard() {
  const offered = lastMonths(months);
  const [month, setMonth] = useState(offered[0] ?? "");
  const { data, error } = useLook<Spenders>(
    `/operator/usage/spenders?${new URLSearchParams({ month })}`,
    often,
  );
  return (
    <section className="card stack" aria-label={say("usage.spenders")} aria-busy={!data && !error}>
      <h2>{say("usage.spenders")}</h2>
      <p className="soft small">{say("usage.spendersHint")}</p>
      <div className="row">
        <label>
          {say("usage.month")}
          <select value={month} onChange={(event) => setMonth(event.target.value)}>
            {offered.map((one) => (
              <option key={one} value={one} translate="no">
                {monthName(one)}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Problem error={error} />
      {!data && !error && <Skeleton lines={4} label={say("usage.reading")} />}
      {data?.spenders.length === 0 && <p className="soft">{say("usage.nobodySpent")}</p>}
      {data && data.spenders.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">{say("usage.person")}</th>
              <th scope="col" className="number wide-only">
                {say("usage.messages")}
              </th>
              <th scope="col" className="number wide-only">
                {say("usage.tokens")}
              </th>
              <th scope="col" className="number">
                {say("usage.cost")}
              </th>
            </tr>
          </thead>
          <tbody>
            {data.spenders.map((one) => (
              <tr key={one.user}>
                <td>
                  <span className="with-copy">
                    <span className="mono">{short(one.user, 14, 6)}</span>
                    <CopyButton
                      text={one.user}
                      label={say("usage.copyDid", { name: short(one.user, 16, 6) })}
                    />
                  </span>
                </td>
                <td className="number wide-only">{number(one.messages)}</td>
                <td className="number wide-only">{number(one.tokens)}</td>
                <td className="number">{costOf(one.costMicros)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
