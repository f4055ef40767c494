import { CriError } from '../cri-error.ts';
import { CgroupDriver } from '../generated/runtime-v1.ts';
import type { RuntimeService } from '../services.ts';
import type { FakeWorld } from './fake-world.ts';

type NodeCalls = Pick<
  RuntimeService,
  'version' | 'status' | 'runtimeConfig' | 'updateRuntimeConfig' | 'checkpointContainer' | 'getContainerEvents'
>;

export function nodeCalls(world: FakeWorld, hasEvents: boolean): NodeCalls {
  return {
    version: async () => ({
      version: '0.1.0',
      runtimeName: 'fake',
      runtimeVersion: '1.0.0',
      runtimeApiVersion: 'v1',
    }),

    status: async () => ({
      status: { conditions: [...world.conditions.values()].map((condition) => ({ ...condition })) },
      info: {},
      runtimeHandlers: Array.from(world.handlers, ([name, features]) => ({ name, features })),
      features: undefined,
    }),

    runtimeConfig: async () => ({ linux: { cgroupDriver: CgroupDriver.CGROUPFS } }),
    updateRuntimeConfig: async () => ({}),

    async checkpointContainer() {
      throw new CriError('Unimplemented', 'method CheckpointContainer not implemented');
    },

    async *getContainerEvents(_, signal) {
      if (!hasEvents) throw new CriError('Unimplemented', 'method GetContainerEvents not implemented');
      yield* world.events.subscribe(signal);
    },
  };
}
