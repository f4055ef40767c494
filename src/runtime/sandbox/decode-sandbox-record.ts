import { PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';

/** For `openRecordStore`. We are the only writer: what has the parts that every record has is one of ours. */
export function decodeSandboxRecord(value: unknown): SandboxRecord {
  const record = value as SandboxRecord; // every part that is used without a look is looked at here
  if (typeof record.id !== 'string' || typeof record.runtimeHandler !== 'string')
    throw new TypeError('no sandbox record');
  if (typeof record.createdAtNs !== 'bigint') throw new TypeError('no time of creation');
  if (typeof record.state?.phase !== 'string' || typeof record.namespaces !== 'object') throw new TypeError('no state');
  const config = PodSandboxConfig.fromPartial(record.config);
  if (config.metadata === undefined) throw new TypeError('no metadata');
  const { ips = [], networkResults = {} } = record;
  return { ...record, config, ips, networkResults };
}
