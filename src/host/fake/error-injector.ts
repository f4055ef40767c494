/** Failures that a test asks for. `Operation` names what can fail. */
export class ErrorInjector<Operation extends string> {
  readonly #waiting: Array<{ readonly operation: Operation; readonly code: string; readonly subject?: string }> = [];

  /** The next such operation (on `subject` alone, when it is given) fails with this errno name, and only that one. */
  failNext(operation: Operation, code: string, subject?: string): void {
    this.#waiting.push({ operation, code, ...(subject === undefined ? {} : { subject }) });
  }

  /** The errno name with which this operation has to fail, if any. */
  take(operation: Operation, subject: string): string | undefined {
    const index = this.#waiting.findIndex(
      (fault) => fault.operation === operation && (fault.subject ?? subject) === subject,
    );
    return index === -1 ? undefined : this.#waiting.splice(index, 1)[0]?.code;
  }
}
