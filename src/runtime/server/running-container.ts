import { CriError } from '../../cri/cri-error.ts';
import { containerNotFound } from '../container/container-errors.ts';
import { criStateName } from '../container/container-messages.ts';
import type { OciSpec } from '../oci/oci-spec.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import type { RecordStore } from '../store/record-store.ts';

export type RunningContainer = ContainerRecord & { readonly spec: OciSpec };

/** Checked by exec and attach when the URL is requested, and again when the client connects. */
export function requireRunningContainer(
  containers: Pick<RecordStore<ContainerRecord>, 'find'>,
  id: string,
): RunningContainer {
  const record = containers.find(id);
  if (!record) throw containerNotFound(id);
  const { spec } = record;
  if (record.state.phase !== 'running' || !spec) {
    throw new CriError('FailedPrecondition', `container is in ${criStateName(record)} state`);
  }
  return { ...record, spec };
}
