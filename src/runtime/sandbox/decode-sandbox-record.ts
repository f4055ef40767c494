import { PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';

/** Decoder for `openRecordStore`. Only this program writes records, so checking the required fields suffices. */
export function decodeSandboxRecord(value: unknown): SandboxRecord {
  const record = value as SandboxRecord; // the required fields are checked below
  if (typeof record.id !== 'string' || typeof record.runtimeHandler !== 'string')
    throw new TypeError('not a sandbox record');
  if (typeof record.createdAtNs !== 'bigint') throw new TypeError('no time of creation');
  if (typeof record.state?.phase !== 'string' || typeof record.namespaces !== 'object') throw new TypeError('no state');
  const config = PodSandboxConfig.fromPartial(record.config);
  if (config.metadata === undefined) throw new TypeError('no metadata');
  const { ips = [], networkResults = {} } = record;
  return { ...record, config, ips, networkResults };
}
