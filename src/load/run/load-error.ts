/** A load run cannot be made, or has ended without a result; the message is for people and says what to do. */
export class LoadError extends Error {
  override readonly name = 'LoadError';
}
