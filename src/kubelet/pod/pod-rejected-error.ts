import { CausedError } from './pod-cause.ts';

/** The pod cannot run on this node, and is rejected as admission would have done. */
export class PodRejectedError extends CausedError {
  override readonly name = 'PodRejectedError';
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message, undefined);
    this.reason = reason;
  }
}
