/** The state of the runtime and of the disk, and since when each holds. */
export interface MachineState {
  readonly runtime: 'ready' | 'silent' | 'withoutNetwork';
  readonly runtimeSince: number;
  readonly isDiskShort: boolean;
  readonly diskSince: number;
}

/** The actual state of the node and its cluster, independent of the agent's view. Times are milliseconds of the world. */
export class ClusterState {
  readonly #now: () => number;
  #isSilent = false;
  #hasNetwork = true;
  #machine: MachineState = { runtime: 'ready', runtimeSince: 0, isDiskShort: false, diskSince: 0 };
  #apiFaultUntil = 0;
  #isMemoryShort = false;
  #memoryShortAt = Number.NEGATIVE_INFINITY;
  #diskShortAt = Number.NEGATIVE_INFINITY;
  #machineFaultUntil = 0;
  #eventFaultUntil = 0;
  /** The number of the current agent process. */
  processNumber = 0;
  /** By the current agent process. */
  leaseRenewedAt: number | undefined;
  firstRenewedAt: number | undefined;
  nodeWrittenAt: number | undefined;
  /** Since when the node object is missing, and which agent process ran then. */
  nodeMissing: { readonly since: number; readonly processNumber: number } | undefined;
  /** When other clients last changed the node or deleted mirror pods. */
  nodeChangedAt = 0;
  mirrorsChangedAt = 0;
  /** Until then another machine holds the lease of the node's name. */
  otherMachineUntil = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Until when API calls of the agent fail or are slow, except writes of events. */
  get apiFaultUntil(): number {
    return this.#apiFaultUntil;
  }

  /** Until when the agent's reads of its machine fail. */
  get machineFaultUntil(): number {
    return this.#machineFaultUntil;
  }

  /** Until when writes of events fail. */
  get eventFaultUntil(): number {
    return this.#eventFaultUntil;
  }

  get machine(): MachineState {
    return this.#machine;
  }

  agentStarted(processNumber: number): void {
    this.processNumber = processNumber;
    this.leaseRenewedAt = undefined;
    this.firstRenewedAt = undefined;
    this.nodeWrittenAt = undefined;
  }

  noteApiFault(ms: number): void {
    this.#apiFaultUntil = Math.max(this.#apiFaultUntil, this.#now() + ms);
    this.noteEventFault(ms);
  }

  noteEventFault(ms: number): void {
    this.#eventFaultUntil = Math.max(this.#eventFaultUntil, this.#now() + ms);
  }

  noteMachineFault(ms: number): void {
    this.#machineFaultUntil = Math.max(this.#machineFaultUntil, this.#now() + ms);
  }

  renewed(): void {
    this.leaseRenewedAt = this.#now();
    this.firstRenewedAt ??= this.#now();
  }

  setSilent(isSilent: boolean): void {
    this.#isSilent = isSilent;
    this.#setRuntime();
  }

  setNetwork(hasNetwork: boolean): void {
    this.#hasNetwork = hasNetwork;
    this.#setRuntime();
  }

  setDiskShort(isDiskShort: boolean): void {
    if (isDiskShort !== this.#machine.isDiskShort) {
      this.#diskShortAt = this.#now();
      this.#machine = { ...this.#machine, isDiskShort, diskSince: this.#now() };
    }
  }

  setMemoryShort(isShort: boolean): void {
    this.#isMemoryShort = isShort;
    this.#memoryShortAt = this.#now();
  }

  /** The last moment at which the node was short of memory. */
  get lastMemoryShortAt(): number {
    return this.#isMemoryShort ? this.#now() : this.#memoryShortAt;
  }

  /** The last moment at which the node was short of anything. */
  get lastShortAt(): number {
    const { isDiskShort } = this.#machine;
    return isDiskShort ? this.#now() : Math.max(this.lastMemoryShortAt, this.#diskShortAt);
  }

  #setRuntime(): void {
    const runtime = this.#isSilent ? 'silent' : this.#hasNetwork ? 'ready' : 'withoutNetwork';
    if (runtime !== this.#machine.runtime) this.#machine = { ...this.#machine, runtime, runtimeSince: this.#now() };
  }
}
