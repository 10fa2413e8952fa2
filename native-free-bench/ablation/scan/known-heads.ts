/** In place of the memory for method headers: none is known, each is decoded. */
export class KnownHeads {
  find(): boolean {
    return false;
  }

  remember(): void {}
}
