import type { IApproval, IFormField } from "@castalia/oracles-client/approvals";
import { useId } from "react";
import { useLabels } from "./labels";
import { Button } from "./parts/Button";
import { Icon } from "./parts/Icon";
import { nameOf } from "./toolWords";

type Content = Record<string, unknown>;

export interface QuestionProps {
  approval: IApproval;
  onAnswer: (content: Content) => void;
  onDeny: () => void;
}

/**
 * What a tool asks the reader for, in the course of its call. The words are those of who
 * asks, which is said; they are shown as they are.
 */
export function Question({ approval, onAnswer, onDeny }: QuestionProps) {
  const labels = useLabels();
  const { tool, server } = nameOf(approval.toolName);
  const question = approval.question;
  if (!question) return null;
  const from = question.from || server || tool;
  const fields = Object.entries(question.form.properties);
  const isBusy = approval.state === "answering";
  return (
    <form
      className="castalia-approval castalia-question"
      aria-label={labels.asksYou(from, tool)}
      onSubmit={(event) => {
        event.preventDefault();
        onAnswer(contentOf(question.form, new FormData(event.currentTarget)));
      }}
    >
      <p className="castalia-approval-head">
        <Icon name="shield" />
        <strong>{labels.asksYou(from, tool)}</strong>
      </p>
      <p dir="auto">{question.message}</p>
      {fields.map(([name, field]) => (
        <Field
          key={name}
          name={name}
          field={field}
          isRequired={question.form.required?.includes(name) ?? false}
        />
      ))}
      <p className="castalia-soft">{labels.goesTo(from)}</p>
      <div className="castalia-row">
        <Button look="primary" type="submit" disabled={isBusy}>
          {labels.giveAnswer}
        </Button>
        <Button disabled={isBusy} onClick={onDeny}>
          {labels.giveNone}
        </Button>
      </div>
    </form>
  );
}

interface FieldProps {
  name: string;
  field: IFormField;
  isRequired: boolean;
}

function Field({ name, field, isRequired }: FieldProps) {
  const id = useId();
  const labels = useLabels();
  const title = field.title ?? name;
  const choices = choicesOf(field);
  const about = field.description ? `${id}-about` : undefined;
  const given = { id, name, required: isRequired, "aria-describedby": about };
  const description = about && (
    <span id={about} className="castalia-soft" dir="auto">
      {field.description}
    </span>
  );
  if (field.type === "boolean") {
    return (
      <p>
        <label className="castalia-choice">
          <input
            type="checkbox"
            id={id}
            name={name}
            aria-describedby={about}
            defaultChecked={field.default === true}
          />
          <span dir="auto">{title}</span>
        </label>
        {description}
      </p>
    );
  }
  if (field.type === "array") {
    const marked = Array.isArray(field.default) ? (field.default as unknown[]) : [];
    return (
      <fieldset aria-describedby={about}>
        <legend dir="auto">{title}</legend>
        {description}
        {choices.map(([value, words]) => (
          <label key={value} className="castalia-choice">
            <input
              type="checkbox"
              name={name}
              value={value}
              defaultChecked={marked.includes(value)}
            />
            <span dir="auto">{words}</span>
          </label>
        ))}
      </fieldset>
    );
  }
  const preset =
    typeof field.default === "string" || typeof field.default === "number"
      ? field.default
      : undefined;
  return (
    <p>
      <label htmlFor={id} dir="auto">
        {title}
        {!isRequired && <span className="castalia-soft"> {labels.optional}</span>}
      </label>
      {choices.length > 0 ? (
        <select {...given} className="castalia-field" defaultValue={preset ?? ""}>
          <option value="" />
          {choices.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      ) : (
        <input
          {...given}
          {...entryOf(field)}
          className="castalia-field"
          dir="auto"
          defaultValue={field.format === "date-time" ? localTime(preset) : preset}
        />
      )}
      {description}
    </p>
  );
}

/** How a browser takes what a field wants. */
function entryOf(field: IFormField) {
  if (field.type === "number" || field.type === "integer") {
    const step = field.type === "integer" ? 1 : "any";
    return { type: "number", step, min: field.minimum, max: field.maximum };
  }
  const types: Record<string, string> = {
    email: "email",
    uri: "url",
    date: "date",
    "date-time": "datetime-local",
  };
  const type = types[field.format ?? ""] ?? "text";
  return { type, minLength: field.minLength, maxLength: field.maxLength };
}

/** What can be chosen, with the words for it. */
function choicesOf(field: IFormField): [string, string][] {
  const list = field.type === "array" ? field.items?.enum : field.enum;
  const named = field.type === "array" ? field.items?.anyOf : field.oneOf;
  return [
    ...(list ?? []).map((value, i): [string, string] => [value, field.enumNames?.[i] ?? value]),
    ...(named ?? []).map((one): [string, string] => [one.const, one.title ?? one.const]),
  ];
}

/** A moment as a browser's own field has it: by the reader's clock. */
function localTime(preset: string | number | undefined): string | undefined {
  const at = new Date(preset ?? NaN);
  const here = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  // The last moments of time are over here already, and cannot be written.
  return Number.isNaN(here.getTime()) ? undefined : here.toISOString().slice(0, 19);
}

type Form = NonNullable<IApproval["question"]>["form"];

/**
 * What the reader wrote, as the form has it. What is empty is left out, but for a list of
 * which nothing may be chosen: that is an answer.
 */
function contentOf({ properties, required = [] }: Form, data: FormData): Content {
  const content: Content = {};
  for (const [name, field] of Object.entries(properties)) {
    const text = data.get(name);
    if (field.type === "boolean") content[name] = text !== null;
    else if (field.type === "array") {
      const chosen = data.getAll(name);
      if (chosen.length > 0 || !field.minItems || required.includes(name)) content[name] = chosen;
    } else if (typeof text === "string" && text !== "") content[name] = valueOf(field, text);
  }
  return content;
}

function valueOf(field: IFormField, text: string): string | number {
  if (field.type === "number" || field.type === "integer") return Number(text);
  return field.format === "date-time" ? new Date(text).toISOString() : text;
}
