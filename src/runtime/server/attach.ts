import { CriError } from '../../cri/cri-error.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { containerNotFound } from '../container/container-failure.ts';
import type { ContainerRecord } from '../container/container-record.ts';
import type { RecordStore } from '../store/record-store.ts';
import { checkStreams } from './exec.ts';

/** Refused, after what is wrong with the request itself. */
export function attach(containers: Pick<RecordStore<ContainerRecord>, 'find'>): RuntimeService['attach'] {
  return async ({ containerId, tty, stdin, stdout, stderr }) => {
    if (!containers.find(containerId)) throw containerNotFound(containerId);
    checkStreams({ tty, stdin, stdout, stderr });
    const why = "the monitor's socket carries packets (SOCK_SEQPACKET), which this runtime cannot open yet";
    throw new CriError('Unimplemented', `attach is not supported: ${why}; exec and logs are`);
  };
}
