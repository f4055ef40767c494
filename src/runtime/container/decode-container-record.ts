import { ContainerConfig } from '../../cri/generated/runtime-v1.ts';
import type { ContainerRecord } from '../store/container-record.ts';

/** For `openRecordStore`. We are the only writer: what has the parts that every record has is one of ours. */
export function decodeContainerRecord(value: unknown): ContainerRecord {
  const record = value as ContainerRecord; // every part that is used without a look is looked at here
  const texts = [record.id, record.sandboxId, record.imageId, record.imageRef, record.runtimeHandler];
  if (![...texts, record.stopSignal, record.logPath].every((text) => typeof text === 'string')) {
    throw new TypeError('no container record');
  }
  if (typeof record.createdAtNs !== 'bigint') throw new TypeError('no time of creation');
  if (typeof record.life?.phase !== 'string') throw new TypeError('no state');
  const config = ContainerConfig.fromPartial(record.config);
  if (config.metadata === undefined) throw new TypeError('no metadata');
  return { ...record, config };
}
