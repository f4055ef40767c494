/** Errors that a test injects. `Operation`: the operations that can fail. */
export class ErrorInjector<Operation extends string> {
  readonly #pending: Array<{ readonly operation: Operation; readonly code: string; readonly subject?: string }> = [];

  /** Makes the next such operation, on `subject` only when it is given, fail once with this errno name. */
  failNext(operation: Operation, code: string, subject?: string): void {
    this.#pending.push({ operation, code, ...(subject === undefined ? {} : { subject }) });
  }

  /** The errno name that this operation must fail with, if any. */
  take(operation: Operation, subject: string): string | undefined {
    const index = this.#pending.findIndex(
      (injected) => injected.operation === operation && (injected.subject ?? subject) === subject,
    );
    return index === -1 ? undefined : this.#pending.splice(index, 1)[0]?.code;
  }
}
