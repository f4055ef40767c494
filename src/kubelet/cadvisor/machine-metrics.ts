import { gauge, labelled, type PageMetric } from './metric-table.ts';

/** The machine as kubelet describes it. */
export interface MachineView {
  readonly cores: number;
  readonly physicalCores: number;
  readonly sockets: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
}

type Row = PageMetric<MachineView>;

const machine = (name: string, help: string, read: (view: MachineView) => number): Row => ({
  ...gauge(`machine_${name}`, help, read),
  isTimed: false,
});

/** Books and drawers are those of mainframes, and NVM needs a library that kubelet is built without. */
export const MACHINE_METRICS: readonly Row[] = [
  machine('cpu_books', 'Number of CPU books.', () => 0),
  machine('cpu_cores', 'Number of logical CPU cores.', ({ cores }) => cores),
  machine('cpu_drawers', 'Number of CPU drawers.', () => 0),
  machine('cpu_physical_cores', 'Number of physical CPU cores.', ({ physicalCores }) => physicalCores),
  machine('cpu_sockets', 'Number of CPU sockets.', ({ sockets }) => sockets),
  machine('memory_bytes', 'Amount of memory installed on the machine.', ({ memoryBytes }) => memoryBytes),
  machine('nvm_avg_power_budget_watts', 'NVM power budget.', () => 0),
  {
    ...labelled<MachineView>({
      name: 'machine_nvm_capacity',
      type: 'gauge',
      help: 'NVM capacity value labeled by NVM mode (memory mode or app direct mode).',
      labelNames: ['mode'],
      values: () => ['app_direct_mode', 'memory_mode'].map((mode) => ({ labels: [mode], value: 0 })),
    }),
    isTimed: false,
  },
  machine('swap_bytes', 'Amount of swap memory available on the machine.', ({ swapBytes }) => swapBytes),
];
