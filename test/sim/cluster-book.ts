/** Whether the runtime lets the node be ready, and since when that is so. */
export interface MachineState {
  readonly runtime: 'ready' | 'silent' | 'withoutNetwork';
  readonly runtimeSince: number;
  readonly isDiskShort: boolean;
  readonly diskSince: number;
}

/** What is true between the node and its cluster, whatever the agent believes. Times are milliseconds of the world. */
export class ClusterBook {
  readonly #now: () => number;
  #isSilent = false;
  #hasNetwork = true;
  #machine: MachineState = { runtime: 'ready', runtimeSince: 0, isDiskShort: false, diskSince: 0 };
  #troubleUntil = 0;
  #machineTroubleUntil = 0;
  #eventTroubleUntil = 0;
  /** The number of the agent's present life. */
  life = 0;
  /** In its present life. */
  leaseRenewedAt: number | undefined;
  firstRenewedAt: number | undefined;
  nodeWrittenAt: number | undefined;
  /** There is no node object since then, in this life of the agent. */
  nodeMissing: { readonly since: number; readonly life: number } | undefined;
  /** When others last changed the node, or deleted mirrors. */
  nodeMeddledAt = 0;
  mirrorsMeddledAt = 0;
  /** Until then another machine under the node's name must be taken to be alive. */
  rivalUntil = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Until when calls of the agent failed or took long; those about events do not count. */
  get troubleUntil(): number {
    return this.#troubleUntil;
  }

  /** Until when what the agent looks up of its machine could not be had. */
  get machineTroubleUntil(): number {
    return this.#machineTroubleUntil;
  }

  /** Until when an event could not be written. */
  get eventTroubleUntil(): number {
    return this.#eventTroubleUntil;
  }

  get machine(): MachineState {
    return this.#machine;
  }

  born(life: number): void {
    this.life = life;
    this.leaseRenewedAt = undefined;
    this.firstRenewedAt = undefined;
    this.nodeWrittenAt = undefined;
  }

  serverTrouble(ms: number): void {
    this.#troubleUntil = Math.max(this.#troubleUntil, this.#now() + ms);
    this.eventTrouble(ms);
  }

  eventTrouble(ms: number): void {
    this.#eventTroubleUntil = Math.max(this.#eventTroubleUntil, this.#now() + ms);
  }

  machineTrouble(ms: number): void {
    this.#machineTroubleUntil = Math.max(this.#machineTroubleUntil, this.#now() + ms);
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
      this.#machine = { ...this.#machine, isDiskShort, diskSince: this.#now() };
    }
  }

  #setRuntime(): void {
    const runtime = this.#isSilent ? 'silent' : this.#hasNetwork ? 'ready' : 'withoutNetwork';
    if (runtime !== this.#machine.runtime) this.#machine = { ...this.#machine, runtime, runtimeSince: this.#now() };
  }
}
