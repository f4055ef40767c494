import { testPublished } from '../../base/metrics/exposition.fixture.ts';
import { type NodeMessage, nodeChannel } from '../node/lifecycle/node-channel.ts';
import { observeNodeStartup } from './node-startup-metrics.ts';

/** Seconds since the start of the machine; the agent starts after 10. */
let nowSeconds = 10;
const clock = { now: () => nowSeconds * 1000 };

function observing(bootMs: number | undefined) {
  return (registry: Parameters<typeof observeNodeStartup>[0]): (() => void) => {
    nowSeconds = 10;
    return observeNodeStartup(registry, { clock, bootMs: async () => bootMs });
  };
}

function publishing(steps: readonly (readonly [seconds: number, kind: NodeMessage['kind']])[]) {
  return async (): Promise<void> => {
    for (const [seconds, kind] of steps) {
      nowSeconds = seconds;
      nodeChannel.publish({ kind });
    }
    await Promise.resolve(); // the start of the machine is read from a file
  };
}

testPublished('start of the node', {
  'a new node object that becomes ready; what follows is not measured': {
    observe: observing(0),
    publish: publishing([
      [12, 'registering'],
      [13, 'registering'],
      [15, 'created'],
      [20, 'ready'],
      [40, 'ready'],
    ]),
    series: [
      'kubelet_node_startup_duration_seconds 20',
      'kubelet_node_startup_post_registration_duration_seconds 5',
      'kubelet_node_startup_pre_kubelet_duration_seconds 10',
      'kubelet_node_startup_pre_registration_duration_seconds 2',
      'kubelet_node_startup_registration_duration_seconds 3',
    ],
  },
  'a kernel that does not say when it started': {
    observe: observing(undefined),
    publish: publishing([
      [12, 'registering'],
      [15, 'created'],
    ]),
    series: [
      'kubelet_node_startup_pre_registration_duration_seconds 2',
      'kubelet_node_startup_registration_duration_seconds 3',
    ],
  },
  'a node object that exists already is not measured': {
    observe: observing(0),
    publish: publishing([
      [12, 'registering'],
      [20, 'ready'],
    ]),
    series: [],
  },
});
