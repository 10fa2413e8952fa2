/** What a test has opened, closed in the reverse order; the list is empty then. */
export async function disposeOpened(opened: (Disposable | AsyncDisposable)[]): Promise<void> {
  for (const each of opened.splice(0).reverse()) {
    if (Symbol.dispose in each) each[Symbol.dispose]();
    else await each[Symbol.asyncDispose]();
  }
}
