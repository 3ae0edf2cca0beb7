import {
  TurnError,
  type IChatResult,
  type IMessage,
  type UIComponents,
} from "@castalia/oracles-client";
import { useLayoutEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { messageOf, useLabels } from "../labels";
import { Message } from "../message/Message";
import type { MessageActs } from "../message/MessageTools";
import { Button, IconButton } from "../parts/Button";
import { Dots } from "../parts/Dots";
import { focusEntry } from "../parts/entry";
import { Hidden } from "../parts/Hidden";
import { Problem } from "../parts/Problem";
import { Retrying } from "../parts/Retrying";
import { Skeleton } from "../parts/Skeleton";
import { Announcer } from "./Announcer";
import { troubleOf } from "./instead";
import { useScroll } from "./useScroll";

export interface ThreadProps {
  /** What `useChat` gives. */
  chat: Pick<
    IChatResult,
    | "messages"
    | "status"
    | "isSending"
    | "isLoading"
    | "isRetrying"
    | "canRetry"
    | "refetchMessages"
    | "error"
    | "sendMessageError"
    | "hasEarlier"
    | "isLoadingEarlier"
    | "loadEarlier"
    | "retry"
    | "regenerate"
    | "editMessage"
    | "chooseVersion"
    | "sendFeedback"
  >;
  /** What draws calls and what the oracle shows by name; the same object every time. */
  components?: UIComponents | undefined;
  /** Draws a message instead of `Message`. */
  renderMessage?: (message: IMessage, acts: MessageActs) => ReactNode;
  /** What stands there before anything was said. */
  empty?: ReactNode;
  /** What comes behind the messages, such as questions to the reader. */
  children?: ReactNode;
}

/**
 * What was said, with what a reader can do with it, and what went wrong. The
 * newest stays in sight unless the reader went up. Of a long conversation the page
 * holds what is near the reader, at most sixty messages. It is not read out by
 * itself while it is written: answers are announced when they are whole.
 */
export function Thread({ chat, components, renderMessage, empty, children }: ThreadProps) {
  const { messages, isSending, isLoading, status } = chat;
  const labels = useLabels();
  const [problem, setProblem] = useState("");
  const acts = useActs(chat, setProblem);
  const { log, content, list, rows, isAway, measure, toEnd, keep } = useScroll(
    messages,
    isSending,
    status === "submitted",
  );
  // What is wrong with a turn stands in the conversation.
  const failure = chat.error instanceof TurnError ? chat.error : undefined;
  const unread = failure ? undefined : chat.error;
  const error = chat.sendMessageError ?? (chat.isRetrying ? undefined : unread);
  // Before the oracle is found, nothing of the conversation is read.
  const failed = chat.sendMessageError ? "sending" : isLoading ? "finding" : "reading";
  return (
    <div className="castalia-thread">
      <div
        ref={log}
        className="castalia-log"
        role="log"
        aria-live="off"
        aria-busy={isSending}
        aria-label={labels.messages}
        tabIndex={0}
      >
        <div ref={content} className="castalia-log-content">
          {chat.hasEarlier && (
            <p className="castalia-centre">
              <Button disabled={chat.isLoadingEarlier} onClick={() => void chat.loadEarlier()}>
                {labels.earlier}
              </Button>
            </p>
          )}
          {isLoading && <Skeleton lines={5} label={labels.reading} />}
          {!isLoading && messages.length === 0 && !isSending && !unread && (
            <div className="castalia-empty">{empty ?? labels.nothingSaid}</div>
          )}
          <div
            ref={list}
            onFocus={(event) => keep(idOf(event.target))}
            onBlur={() => keep(undefined)}
          >
            {rows.map((row) => {
              if ("room" in row) return <div key={row.key} style={{ height: row.room }} />;
              const message = messages[row.index] as IMessage;
              return (
                <Item
                  key={message.id}
                  id={message.id}
                  isFirst={row.index === 0}
                  isLast={row.index === messages.length - 1}
                  measure={measure}
                >
                  {renderMessage?.(message, acts) ?? (
                    <Message message={message} acts={acts} components={components} />
                  )}
                </Item>
              );
            })}
          </div>
          {status === "submitted" && (
            <p className="castalia-soft castalia-waiting" role="status">
              <Dots />
              <Hidden>{labels.sending}</Hidden>
            </p>
          )}
          {children}
          <Retrying
            isOn={chat.isRetrying}
            why={unread ? messageOf(unread, labels) : ""}
            retry={chat.refetchMessages}
          />
          {(error || problem) && (
            <Problem>{error ? troubleOf(failed, error, labels) : problem}</Problem>
          )}
          {chat.canRetry && (
            <Button onClick={() => void chat.retry().catch(() => undefined)}>
              {labels.tryAgain}
            </Button>
          )}
        </div>
      </div>
      {isAway && (
        <IconButton
          className="castalia-newest"
          look="round"
          icon="down"
          label={labels.newest}
          onClick={toEnd}
        />
      )}
      <Announcer
        messages={messages}
        busy={isSending}
        isLoading={isLoading}
        failure={failure?.message ?? ""}
      />
    </div>
  );
}

/** The message that something is in. */
function idOf(element: Element): string | undefined {
  return element.closest<HTMLElement>("[data-message]")?.dataset["message"];
}

function Item(props: {
  id: string;
  isFirst: boolean;
  isLast: boolean;
  measure: (id: string, element: HTMLElement) => () => void;
  children: ReactNode;
}) {
  const { id, measure } = props;
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    return element.current ? measure(id, element.current) : undefined;
  }, [id, measure]);
  const classes = ["castalia-item"];
  if (props.isFirst) classes.push("castalia-first");
  if (props.isLast) classes.push("castalia-last");
  return (
    <div ref={element} className={classes.join(" ")} data-message={id}>
      {props.children}
    </div>
  );
}

/** The same for every message until another conversation is open: none is drawn anew. */
function useActs(chat: ThreadProps["chat"], setProblem: (problem: string) => void): MessageActs {
  const { regenerate, editMessage, chooseVersion, sendFeedback } = chat;
  const labels = useLabels();
  return useMemo(() => {
    const told = (doing: Promise<void>) => {
      setProblem("");
      return doing.catch((cause: unknown) => setProblem(messageOf(cause, labels)));
    };
    // The button goes with the answer; what is next is written below.
    const anew = (doing: Promise<void>) => {
      setProblem("");
      focusEntry();
      // What is wrong with it is an error of the conversation.
      doing.catch(() => undefined);
    };
    return {
      regenerate: (id) => anew(regenerate(id)),
      edit: (id, text) => anew(editMessage(id, text)),
      choose: (id) => told(chooseVersion(id)),
      rate: (id, rating) => void told(sendFeedback(id, rating)),
    };
  }, [regenerate, editMessage, chooseVersion, sendFeedback, labels, setProblem]);
}
