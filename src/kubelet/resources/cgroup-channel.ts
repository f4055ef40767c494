import { typedChannel } from '../../base/typed-channel.ts';

/** A cgroup of a pod, or of the class of pods, was changed. */
export interface CgroupMessage {
  readonly operation: 'create' | 'update' | 'destroy';
  readonly tookMs: number;
}

export const cgroupChannel = typedChannel<CgroupMessage>('nodelet.cgroup');
