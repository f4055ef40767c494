import type { Pod } from '../../src/api/generated/core-v1.ts';
import type { Log } from '../../src/base/log.ts';
import type { Effect } from '../../src/cri/fake/effects.ts';
import { createFakeRuntime, type FakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import { createMemoryHost, type MemoryHost } from '../../src/host/fake/memory-host.ts';
import type { AgentEvent } from '../../src/kubelet/explain/agent-view.ts';
import { AgentProcess } from './agent-process.ts';
import type { CheckContext, Violation } from './check-context.ts';
import { ClusterSide } from './cluster-side.ts';
import { Draw } from './draw.ts';
import { injectFault, type PlannedKill, setMemory, setNetwork } from './inject-fault.ts';
import { Invariants } from './invariants.ts';
import { checkClaimCall } from './invariants-of-claims.ts';
import { checkDiskCall } from './invariants-of-disks.ts';
import { StableImages } from './invariants-of-node.ts';
import { checkDelay, checkRelease } from './invariants-of-shutdown.ts';
import { checkReleased, checkWrite } from './invariants-of-writes.ts';
import { MachineSide } from './machine-side.ts';
import { PendingFaults } from './pending-faults.ts';
import type { PlannedFault } from './plan-faults.ts';
import type { MachinePlan } from './plan-machine.ts';
import { allowsPull } from './plan-objects.ts';
import { IMAGES, PRIVATE_IMAGE, SLOW_IMAGE } from './plan-pods.ts';
import type { PlannedAction, SimSource, WorldPlan } from './plan-world.ts';
import { PodRecords } from './pod-records.ts';
import { behaviours } from './program.ts';
import type { SimCluster } from './sim-cluster.ts';
import { SimDisks } from './sim-disks.ts';
import { SimLogs } from './sim-logs.ts';
import { prepareMachine } from './sim-machine.ts';
import { SimObjects } from './sim-objects.ts';
import { SimServers } from './sim-servers.ts';
import { SimManifests } from './sim-sources.ts';
import { Trace } from './trace.ts';

const SLOW_PULL_MS = 40_000;
/** The longest duration of a call that was made just before the faults end. */
const LONGEST_CALL_MS = 250_000;
/** The time after which a supervisor restarts an agent that failed to start. */
const RESTART_MS = 1_000;

/** A machine, its runtime, its users, its faults, and a sequence of agent processes. */
export class World {
  readonly host: MemoryHost;
  readonly runtime: FakeRuntime;
  readonly trace = new Trace();
  readonly cluster: SimCluster;
  readonly context: CheckContext;
  readonly images: StableImages;
  readonly #plan: WorldPlan;
  readonly #records: PodRecords;
  readonly #manifests: SimManifests;
  readonly #servers: SimServers;
  readonly #logs: SimLogs | undefined;
  readonly #disks: SimDisks;
  readonly #machine: MachineSide | undefined;
  readonly #side: ClusterSide;
  readonly #faults = new PendingFaults((ms) => this.context.clusterState.noteMachineFault(ms));
  readonly #invariants: Invariants;
  readonly #end = new AbortController();
  readonly #pace: Draw;
  #agentProcess: AgentProcess | undefined;
  #processCount = 0;
  #agentStartedAt = 0;
  #jumpedAt = Number.NEGATIVE_INFINITY;
  #violation: Violation | undefined;

  constructor(plan: WorldPlan) {
    this.#plan = plan;
    this.#pace = new Draw(plan.seed, 'pace');
    this.host = createMemoryHost({ seed: plan.seed });
    const { clock } = this.host;
    const onEffect = (effect: Effect): void => this.#effect(effect);
    const behaviourOf = behaviours(clock, (...hook) => this.#invariants.hook(...hook));
    this.runtime = createFakeRuntime({ clock, random: this.host.random, behaviourOf, onEffect });
    for (const image of IMAGES) {
      this.runtime.addImage(image);
      this.runtime.registry.set(image, {});
    }
    this.runtime.registry.set(PRIVATE_IMAGE, { allows: allowsPull });
    this.#servers = new SimServers(this.host.network, clock);
    this.#logs = plan.hasLogs ? new SimLogs(this.host.fs, clock) : undefined;
    this.runtime.registry.set(SLOW_IMAGE, { pullMs: SLOW_PULL_MS });
    this.#disks = new SimDisks({
      host: this.host,
      onCall: (call) => {
        this.#note(`  ${call.method} ${call.volumeId}`);
        checkDiskCall(call, this.context);
      },
      onBrokenRule: (message) => this.fail(34, message),
    });
    this.#records = new PodRecords(() => clock.monotonic());
    const isAlone = !plan.sources.includes('api');
    this.#manifests = new SimManifests(this.host.fs, isAlone ? 'manifests' : 'none');
    this.#side = new ClusterSide({
      seed: plan.seed,
      clock,
      faults: this.#faults,
      wrote: (write) => {
        checkWrite(write, this.context);
        this.#run(checkReleased(write, this.context, this.host.mounts));
      },
      staticOf: (key) => this.#manifests.get(key),
    });
    this.#machine = plan.machine && this.#newMachine(plan, plan.machine);
    const { clusterState, server, users } = this.#side;
    this.cluster = users;
    const objects = new SimObjects(isAlone ? undefined : server.direct, this.host.fs, () => clock.monotonic());
    this.context = {
      records: this.#records,
      objects,
      disks: this.#disks,
      machine: this.#machine,
      clusterState,
      quietAt: plan.faults.length === 0 ? 0 : plan.times.calm + LONGEST_CALL_MS,
      runtime: this.runtime,
      now: () => clock.monotonic(),
      wallMs: () => clock.now(),
      jumpedAt: () => this.#jumpedAt,
      processNumber: () => this.#processCount,
      agentStartedAt: () => this.#agentStartedAt,
      hasLostPull: () => this.#faults.hasLostPull,
      sources: plan.sources.length,
      fail: (invariant, text) => this.fail(invariant, text),
    };
    this.#invariants = new Invariants(this.context);
    const list = async (): Promise<readonly string[]> => {
      const { images } = await this.runtime.cri.images.listImages({ filter: undefined }, new AbortController().signal);
      return images.flatMap(({ repoDigests, repoTags }) => [...repoDigests, ...repoTags]);
    };
    this.images = new StableImages(list, () => clock.monotonic());
  }

  get violation(): Violation | undefined {
    return this.#violation;
  }

  get logs(): SimLogs | undefined {
    return this.#logs;
  }

  get agentProcess(): AgentProcess | undefined {
    return this.#agentProcess;
  }

  get processCount(): number {
    return this.#processCount;
  }

  /** Only the first violation counts: later ones may be its consequences. */
  fail(invariant: number, text: string): void {
    const at = this.host.clock.monotonic();
    this.trace.add(at, `VIOLATION of invariant ${invariant}: ${text}`);
    const uid = [...this.#records.pods.keys()].find((each) => text.includes(each));
    this.#violation ??= { invariant, text, uid, at };
  }

  /** Schedules all actions and faults of the plan and starts the agent. */
  async begin(): Promise<void> {
    const { clock } = this.host;
    const { actions, faults, times } = this.#plan;
    await this.#manifests.prepare();
    await prepareMachine(this.host.fs);
    if (this.#plan.cluster) await this.#side.prepare(this.#plan.cluster, this.#end.signal);
    await this.#disks.prepare(this.#side.server.direct);
    await this.#machine?.prepare(this.#side.server.direct);
    this.#logs?.begin();
    setMemory(this.host, false);
    await this.host.fs.makeDirectory('/var/lib/fake-runtime');
    await this.host.fs.writeFile('/etc/hosts', '127.0.0.1 localhost\n');
    for (const action of actions) clock.schedule(action.at, () => this.#run(this.#act(action)));
    for (const fault of faults) clock.schedule(fault.at, () => this.#injectFault(fault));
    clock.schedule(times.calm, () => this.#endFaults());
    this.startAgent();
  }

  /** Stops the world. */
  end(): void {
    this.#agentProcess?.kill();
    this.#end.abort();
  }

  startAgent(): void {
    const { host, runtime } = this;
    const { seed, events } = this.#plan;
    this.#processCount++;
    this.#agentStartedAt = this.host.clock.monotonic();
    this.#records.forgetReports();
    this.context.clusterState.agentStarted(this.#processCount);
    this.#machine?.claims.agentStarted();
    const draw = new Draw(seed, `life ${this.#processCount}`);
    const delay = (): number => (draw.chance(0.3) ? draw.int(1, 30_000) : 0);
    this.#note(`the agent starts (process ${this.#processCount})`);
    this.#agentProcess = new AgentProcess({
      host,
      runtime,
      apiServer: this.#plan.sources.includes('api') ? this.#side.agentApi : undefined,
      disks: this.#disks,
      machine: this.#machine,
      logs: this.#logs,
      faults: this.#faults,
      pace: this.#pace,
      events,
      sourceDelaysMs: { file: delay(), api: delay() },
      seed: draw.int(1, 2 ** 30),
      log: this.#log(),
      onCall: (method, request) => {
        this.#logs?.called(method, request);
        this.#invariants.call(method, request);
      },
      onKill: (downMs) => this.#planKill({ at: 0, kind: 'kill', calls: 0, when: 'before', downMs }),
      onSnapshot: (source, pods) => this.#records.report(source, pods),
      onAgentEvent: (event) => this.#agentEvent(event),
      onEnd: (error) => this.#agentEnded(error),
    });
    this.#agentProcess.start();
  }

  /** Removes all pods with their own grace periods. */
  removeAll(): void {
    for (const key of this.#manifests.keys) this.#run(this.#act({ at: 0, do: 'remove', from: 'file', key }));
    for (const key of this.cluster.keys) this.#run(this.#delete(key, undefined));
  }

  /** Actions of users must not fail. */
  #run(work: Promise<void>): void {
    work.catch((error: unknown) => this.fail(0, `the simulator failed: ${error}`));
  }

  async #act(action: PlannedAction): Promise<void> {
    switch (action.do) {
      case 'put':
        return this.#put(action.from, action.key, action.pod);
      case 'remove':
        return this.#remove(action.from, action.key);
      case 'delete':
        return this.#delete(action.key, action.graceSeconds);
      case 'publish':
        this.runtime.registry.set(action.image, {});
        return this.#note(`${action.image} can be pulled`);
      case 'object':
        this.#note(`${action.resource} ${action.namespace}/${action.name}: ${action.version ?? 'gone'}`);
        return this.context.objects.set(action);
      case 'externalChange':
        this.#note(`external change: ${JSON.stringify(action.change)}`);
        return this.#side.applyChange(action.change);
    }
  }

  async #put(from: SimSource, key: string, pod: Pod): Promise<void> {
    const before = await this.#present(from, key);
    const seen = from === 'file' ? await this.#manifests.put(key, pod) : await this.cluster.put(key, pod);
    this.#note(`${from} has ${key} as ${seen.metadata.uid}: ${summaryOf(seen)}`);
    if (before && before.metadata.uid !== seen.metadata.uid) this.#records.remove(before.metadata.uid);
    this.#records.put(seen);
    if (from === 'api') this.#machine?.reserveClaims(seen);
  }

  async #remove(from: SimSource, key: string): Promise<void> {
    const before = await this.#present(from, key);
    this.#note(`${from} removes ${key}`);
    if (before) this.#records.remove(before.metadata.uid);
    return from === 'file' ? this.#manifests.remove(key) : this.cluster.remove(key);
  }

  async #delete(key: string, graceSeconds: number | undefined): Promise<void> {
    const before = await this.cluster.get(key);
    if (!before) return;
    this.#note(`api deletes ${key} (${graceSeconds ?? 'own grace period'})`);
    await this.cluster.delete(key, graceSeconds);
    const marked = await this.cluster.get(key);
    if (marked) this.#records.put(marked);
    else this.#records.remove(before.metadata.uid);
  }

  async #present(from: SimSource, key: string): Promise<Pod | undefined> {
    return from === 'file' ? this.#manifests.get(key) : this.cluster.get(key);
  }

  #injectFault(fault: PlannedFault): void {
    this.#note(`fault ${JSON.stringify({ ...fault, at: undefined })}`);
    if (fault.kind === 'jump') this.#jumpedAt = this.host.clock.monotonic();
    const kill = (planned: PlannedKill): void => this.#planKill(planned);
    const { runtime } = this;
    const { clock, fs } = this.host;
    const { clusterState, disks, machine } = this.context;
    const apiServer = this.#side.server;
    const memory = this.host;
    injectFault(fault, {
      clock,
      fs,
      runtime,
      apiServer,
      faults: this.#faults,
      clusterState,
      disks,
      machine,
      memory,
      kill,
    });
  }

  #planKill({ calls, when, downMs }: PlannedKill): void {
    const killed = this.#agentProcess;
    const onKill = (): void => {
      if (this.#agentProcess !== killed) return;
      this.#note('the agent is killed');
      killed?.kill();
      this.#agentProcess = undefined;
      this.host.clock.schedule(downMs, () => this.startAgent());
    };
    if (!killed) return;
    if (calls === 0) onKill();
    else killed.gate.killAtCall({ calls, when, onKill });
  }

  #endFaults(): void {
    this.#note('faults end');
    this.#faults.clear();
    this.#disks.endFaults();
    this.#machine?.endFaults();
    this.#side.server.faults.setOutage(false);
    this.context.clusterState.setSilent(false);
    setNetwork(true, this.runtime, this.context.clusterState);
    this.#agentProcess?.gate.killAtCall({ calls: Number.POSITIVE_INFINITY, when: 'before', onKill: () => {} });
  }

  #agentEnded(error: unknown): void {
    const wasStarting = this.#agentProcess?.agent === undefined;
    this.#note(`the agent exits: ${error}`);
    if (!wasStarting) return this.fail(12, `the agent exited: ${error}`);
    this.#agentProcess?.kill();
    this.#agentProcess = undefined;
    this.host.clock.schedule(RESTART_MS, () => this.startAgent());
  }

  #agentEvent(event: AgentEvent): void {
    if (event.kind === 'event' && event.event.reason === 'Preempting') this.#notePreempted(event.pod);
    if (event.kind !== 'status') return;
    const { pod, status } = event;
    this.#note(`status of ${pod.metadata.uid}: ${status.phase} ${status.reason ?? ''}`);
    this.#invariants.status(pod.metadata.uid, status);
  }

  #notePreempted({ metadata: { uid } }: Pod): void {
    this.#note(`${uid} is preempted`);
    const record = this.#records.pods.get(uid);
    if (record) record.preemptedAt = this.host.clock.monotonic();
  }

  #newMachine(plan: WorldPlan, machine: MachinePlan): MachineSide {
    const { host, runtime } = this;
    return new MachineSide({
      seed: plan.seed,
      plan: machine,
      hasApiServer: plan.sources.includes('api'),
      host,
      runtime,
      onAllocate: (resource, ids) => this.#note(`  allocate ${resource} ${ids}`),
      onClaimCall: (call) => {
        this.#note(`  ${call.method} ${call.uid} ${call.driver}`);
        checkClaimCall(call, this.context);
      },
      onBrokenRule: (invariant, message) => this.fail(invariant, message),
      onReleased: (shutdown) => checkRelease(shutdown, this.context),
      onDelayed: (shutdown) => checkDelay(shutdown, this.context),
      onPowerOff: (bootMs) => {
        this.#disks.reset();
        this.#planKill({ at: 0, kind: 'kill', calls: 0, when: 'before', downMs: bootMs });
      },
      note: (line) => this.#note(line),
    });
  }

  #effect(effect: Effect): void {
    const { config, id } = 'sandbox' in effect ? effect.sandbox : effect.container;
    const uid = config.labels['io.kubernetes.pod.uid'];
    const name =
      'sandbox' in effect ? '' : `/${config.metadata && 'name' in config.metadata ? config.metadata.name : ''}`;
    const extra = effect.kind === 'terminating' ? ` ${effect.graceSeconds} s` : '';
    const end =
      'container' in effect && effect.container.state.phase === 'exited' ? ` ${effect.container.state.exitCode}` : '';
    this.#note(`  ${uid}${name} ${id.slice(0, 6)} ${effect.kind}${extra}${end}`);
    this.#serve(effect);
    this.#invariants.effect(effect);
  }

  #serve(effect: Effect): void {
    if (effect.kind === 'started') {
      this.#servers.started(effect.container, this.runtime.sandboxes.get(effect.container.sandboxId)?.ip);
      this.#logs?.started(effect.container);
    }
    if (effect.kind !== 'exited') return;
    this.#servers.ended(effect.container.id);
    this.#logs?.ended(effect.container.id);
  }

  #log(): Log {
    const write = (message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
      const error = fields['error'] === undefined ? '' : `: ${fields['error']}`;
      this.#note(`log: ${message} ${fields['pod'] ?? ''}${error}`);
    };
    return { debug() {}, info: write, warn: write, error: write };
  }

  #note(line: string): void {
    this.trace.add(this.host.clock.monotonic(), line);
  }
}

function summaryOf({ spec }: Pod): string {
  const names = [...(spec.initContainers ?? []), ...spec.containers].map(({ name, image }) => `${name} ${image}`);
  return `${spec.restartPolicy}, ${names.join(', ')}`;
}
