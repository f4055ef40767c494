import { CriError, rpcErrorText } from './cri-error.ts';
import type { VersionResponse } from './generated/runtime-v1.ts';
import type { RuntimeService } from './services.ts';

/** kubelet's runtime API version inside CRI v1; every runtime returns it. */
const SUPPORTED_VERSION = '0.1.0';

/** Requests the version of the runtime at `endpoint`. Rejects if the runtime does not support CRI v1. */
export async function checkRuntimeVersion(
  runtime: RuntimeService,
  endpoint: string,
  signal: AbortSignal,
): Promise<VersionResponse> {
  const answer = await runtime.version({ version: SUPPORTED_VERSION }, signal).catch((error: unknown) => {
    if (!(error instanceof CriError)) throw error;
    const text = `validate service connection: validate CRI v1 runtime API for endpoint ${JSON.stringify(endpoint)}: ${rpcErrorText(error)}`;
    throw new CriError(error.code, text, { cause: error, method: 'Version' });
  });
  if (answer.version !== SUPPORTED_VERSION) {
    throw new CriError('Unimplemented', `runtime api version is not supported: got ${JSON.stringify(answer.version)}`, {
      method: 'Version',
    });
  }
  return answer;
}
