import { typedChannel } from '../../base/typed-channel.ts';

/** The result of one check of `/healthz`. */
export interface HealthMessage {
  readonly name: string;
  readonly isHealthy: boolean;
}

export const healthChannel = typedChannel<HealthMessage>('nodelet.health');
