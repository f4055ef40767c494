import { errorText } from '../base/error-text.ts';
import { ExpectedError } from '../base/expected-error.ts';
import type { CriCode } from '../cri/cri-error.ts';

/** An error of a call to a plugin. `message` is the plugin's own text. */
export class PluginError extends ExpectedError {
  override readonly name = 'PluginError';
  /** By gRPC's name in Go: `DeadlineExceeded`. */
  readonly code: CriCode;
  /** The RPC's name in the protocol: `NodeStageVolume`. */
  readonly method: string;

  constructor(code: CriCode, message: string, method: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.method = method;
  }
}

/** The text of any error as Go prints it: kubelet shows that of a gRPC error with its code. */
export function goErrorText(error: unknown): string {
  return error instanceof PluginError ? `rpc error: code = ${error.code} desc = ${error.message}` : errorText(error);
}
