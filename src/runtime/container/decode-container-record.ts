import { ContainerConfig } from '../../cri/generated/runtime-v1.ts';
import type { ContainerRecord } from '../store/container-record.ts';

/** Decoder for `openRecordStore`. Only this program writes records, so checking the required fields suffices. */
export function decodeContainerRecord(value: unknown): ContainerRecord {
  const record = value as ContainerRecord; // the required fields are checked below
  const texts = [record.id, record.sandboxId, record.imageId, record.imageRef, record.runtimeHandler];
  if (![...texts, record.stopSignal, record.logPath].every((text) => typeof text === 'string')) {
    throw new TypeError('not a container record');
  }
  if (typeof record.createdAtNs !== 'bigint') throw new TypeError('no time of creation');
  if (typeof record.state?.phase !== 'string') throw new TypeError('no state');
  const config = ContainerConfig.fromPartial(record.config);
  if (config.metadata === undefined) throw new TypeError('no metadata');
  return { ...record, config };
}
