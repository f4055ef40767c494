import { typedChannel } from '../../base/typed-channel.ts';

/** The claims of a pod were prepared or unprepared, or could not be. */
export interface DraMessage {
  readonly operation: 'PrepareResources' | 'UnprepareResources';
  readonly isError: boolean;
  readonly tookMs: number;
}

export const draChannel = typedChannel<DraMessage>('nodelet.dra');
