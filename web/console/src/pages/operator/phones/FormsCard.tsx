import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSession } from "../../../identity/session";
import { useDoing } from "../../../shell/asked";
import Confirm from "../../../shell/Confirm";
import { messageOf, moment } from "../../../shell/format";
import { Icon } from "../../../shell/icons";
import { useKeptFocus } from "../../../shell/keptFocus";
import { Problem } from "../../../shell/Problem";
import { saveAs } from "../../../shell/save";
import { Skeleton } from "../../../shell/Skeleton";
import { say } from "../../../words";
import { ask, askBlob, useLook, useMe } from "../api";
import {
  fileOf,
  formPath,
  formsPath,
  nextOf,
  submissionsAfter,
  type Form,
  type Submission,
} from "./phones";
import { ShowMore } from "../parts";

/** What callers sent as forms: how often, what, and as a file. */
export function FormsCard() {
  const session = useSession();
  const me = useMe();
  const { data, error } = useLook<{ forms: Form[] }>(formsPath, 15_000);
  const saving = useDoing();
  const [shown, setShown] = useState("");
  const kept = useKeptFocus<HTMLElement>();
  const mayChange = !!me.data && me.data.role !== "viewer";
  const save = (form: string) =>
    saving.run(async () => saveAs(await askBlob(session, `${formPath(form)}/csv`), fileOf(form)));
  return (
    <section
      {...kept}
      className="card stack"
      aria-label={say("phones.forms")}
      aria-busy={!data && !error}
    >
      <h2>{say("phones.forms")}</h2>
      <p className="soft small">{say("phones.formsHint")}</p>
      <Problem error={saving.error || error} />
      {!data && !error && <Skeleton lines={3} label={say("phones.readingForms")} />}
      {data?.forms.length === 0 && <p className="soft">{say("phones.noForms")}</p>}
      {data && data.forms.length > 0 && (
        <ul className="plain locks">
          {data.forms.map(({ form, submissions, lastAt }) => (
            <li key={form}>
              <div className="row spread">
                <span className="grow">
                  <strong dir="auto">{form}</strong>
                  <span className="soft small block">
                    {say("phones.sentTimes", { count: submissions, when: moment(lastAt) })}
                  </span>
                </span>
                <span className="row">
                  <button
                    type="button"
                    aria-expanded={form === shown}
                    aria-label={say("phones.answersOne", { form })}
                    onClick={() => setShown(form === shown ? "" : form)}
                  >
                    {say("phones.answers")}
                  </button>
                  <button
                    type="button"
                    disabled={saving.isBusy}
                    aria-label={say("phones.csvOne", { form })}
                    onClick={() => save(form)}
                  >
                    <Icon name="download" /> {say("phones.csv")}
                  </button>
                </span>
              </div>
              {form === shown && <Submissions form={form} mayChange={mayChange} />}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Submissions({ form, mayChange }: { form: string; mayChange: boolean }) {
  const session = useSession();
  const doing = useDoing([]);
  const [deleting, setDeleting] = useState<Submission>();
  const list = useInfiniteQuery({
    queryKey: [formsPath, form],
    queryFn: ({ pageParam }) =>
      ask<{ submissions: Submission[] }>(session, submissionsAfter(form, pageParam)),
    initialPageParam: "",
    getNextPageParam: ({ submissions }) => nextOf(submissions.map((one) => one.submission)),
    refetchOnWindowFocus: false,
  });
  const all = list.data?.pages.flatMap((page) => page.submissions);
  const error = list.error ? messageOf(list.error) : "";
  return (
    <div className="stack account-details" aria-busy={!all && !error}>
      <Problem error={doing.error || error} />
      {!all && !error && <Skeleton lines={3} label={say("phones.readingForms")} />}
      <ol className="plain locks" aria-label={say("phones.answersOne", { form })}>
        {all?.map((one) => (
          <li key={one.submission} className="row spread">
            <div className="grow">
              <span className="soft small">
                {moment(one.at)} <span dir="ltr">{one.phoneNumber}</span>{" "}
                {one.account && <span className="mono">{one.account}</span>}
              </span>
              <dl className="facts">
                {one.values.map(({ field, value }) => (
                  <div key={field} className="pair">
                    <dt dir="auto">{field}</dt>
                    <dd dir="auto">{value}</dd>
                  </div>
                ))}
              </dl>
            </div>
            {mayChange && (
              <button
                type="button"
                className="danger"
                disabled={doing.isBusy}
                aria-label={say("phones.deleteOne", { when: moment(one.at) })}
                onClick={() => setDeleting(one)}
              >
                {say("phones.delete")}
              </button>
            )}
          </li>
        ))}
      </ol>
      <ShowMore list={list} label={say("phones.showMore")} />
      {deleting && (
        <Confirm
          title={say("phones.deleteAsk")}
          action={say("phones.delete")}
          onConfirm={() =>
            doing.run(() =>
              ask(
                session,
                `${formPath(form)}/${encodeURIComponent(deleting.submission)}`,
                "DELETE",
              ),
            )
          }
          onClose={() => setDeleting(undefined)}
        >
          {say("phones.deleteHint", { when: moment(deleting.at) })}
        </Confirm>
      )}
    </div>
  );
}
