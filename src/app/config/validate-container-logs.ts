import { normalize } from 'node:path/posix';
import { parseDurationMs } from '../../base/duration.ts';
import { errorText } from '../../base/error-text.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type { KubeletConfiguration } from './generated/kubelet-configuration.ts';

/** Objections to how the logs of containers are rotated. */
export function* containerLogErrors(config: KubeletConfiguration): Generator<string> {
  if (config.containerLogMaxWorkers < 1) {
    yield 'invalid configuration: containerLogMaxWorkers must be greater than or equal to 1';
  }
  if (parseDurationMs(config.containerLogMonitorInterval) < 3000) {
    yield 'invalid configuration: containerLogMonitorInterval must be a positive time duration greater than or equal to 3s';
  }
  if (config.containerLogMaxFiles <= 1) yield 'invalid configuration: containerLogMaxFiles must be greater than 1';
  try {
    containerLogMaxBytes(config.containerLogMaxSize);
  } catch (error) {
    yield `failed to parse container log max size ${JSON.stringify(config.containerLogMaxSize)}: ${errorText(error)}`;
  }
}

/** Bytes. Throws an `Error` when it is no quantity of whole bytes; a negative size means no rotation. */
export function containerLogMaxBytes(text: string): number {
  const quantity = parseQuantity(text);
  if (quantity.nano % 1_000_000_000n !== 0n) throw new Error('invalid max log size');
  return Number(quantity.value());
}

/** Objections to the folder of pods' logs: metrics carry its name. */
export function* podLogsDirErrors(path: string): Generator<string> {
  if (path === '') yield 'invalid configuration: podLogsDir was not specified';
  const quoted = JSON.stringify(path);
  if (!path.startsWith('/')) yield `invalid configuration: pod logs path ${quoted} must be absolute path`;
  if (path !== clean(path)) yield `invalid configuration: pod logs path ${quoted} must be normalized`;
  if (/[^\0-\x7f]/.test(path)) {
    yield `invalid configuration: pod logs path ${quoted} mut contains ASCII characters only`;
  }
}

/** Like Go's filepath.Clean: no slash at the end. */
function clean(path: string): string {
  return path === '' ? '.' : normalize(path).replace(/(?<=.)\/$/, '');
}
