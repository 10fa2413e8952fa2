/** HTML that escapes by construction: whatever is put into a template is text, unless it is itself the result of a template. */

/** Markup that may be put into other markup as it is. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Content = Html | string | number | null | readonly Content[];

/** Text for element content and for attribute values in double or single quotes. */
export function escapeText(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Template tag. Strings and numbers are escaped, lists are joined, null is nothing. */
export function html(parts: TemplateStringsArray, ...values: readonly Content[]): Html {
  let text = parts[0] ?? '';
  values.forEach((value, index) => {
    text += flatten(value) + (parts[index + 1] ?? '');
  });
  return new Html(text);
}

function flatten(value: Content): string {
  if (value === null) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'string') return escapeText(value);
  if (typeof value === 'number') return String(value);
  return value.map(flatten).join('');
}

/** JSON for a `<script type="application/json">`: no text in it can end the element or begin a comment. */
export function embedJson(value: unknown): Html {
  return new Html(JSON.stringify(value).replaceAll('<', '\\u003c').replaceAll('>', '\\u003e'));
}
