/** A decoded protobuf message, seen as a bag of fields. */
export type Fields = Record<string, unknown>;

/**
 * Visits the strings that a dotted name such as `snapshotList.snapshotListing.parent_fullpath` or `srcs` reaches in a decoded message; lists
 * on the way are visited item by item. What the visitor returns takes the place of the value; undefined leaves it.
 */
export function visitDotted(
  message: Fields,
  dotted: string,
  visit: (value: string | Buffer) => string | Buffer | undefined,
): void {
  const dot = dotted.indexOf('.');
  const name = dot < 0 ? dotted : dotted.slice(0, dot);
  if (!Object.hasOwn(message, name)) return;
  const value = message[name];
  if (dot >= 0) {
    const rest = dotted.slice(dot + 1);
    for (const item of Array.isArray(value) ? value : [value]) visitDotted(item as Fields, rest, visit);
    return;
  }
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = visit(value[i] as string | Buffer) ?? value[i];
  } else {
    message[name] = visit(value as string | Buffer) ?? value;
  }
}
