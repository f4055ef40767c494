import { PodResizes } from '../kubelet/resources/pod-resizes.ts';
import type { ResourceRecords } from '../kubelet/resources/resource-records.ts';
import type { PublisherDeps } from '../kubelet/sync/pod-status-publisher.ts';
import type { SyncLoopDeps } from '../kubelet/sync-loop.ts';
import { type AdmissionParts, createAdmission } from './admission.ts';
import type { AgentParts } from './agent.ts';
import type { AgentFacts } from './agent-facts.ts';

/** Who may run here, and with what. */
export function createDecisions(
  { host, settings }: AgentParts,
  facts: AgentFacts,
  records: ResourceRecords,
  parts: AdmissionParts,
): Pick<SyncLoopDeps, 'admit' | 'refuse' | 'resizes'> {
  const admission = createAdmission(facts, parts);
  return { ...admission, resizes: new PodResizes({ ...parts, ...facts, ...admission, ...host, records, settings }) };
}

/** What a status tells of the resources that a pod has. */
export function createResourceReports(
  records: ResourceRecords,
  decisions: () => Pick<SyncLoopDeps, 'resizes'>,
): Pick<PublisherDeps, 'resources'> {
  return { resources: (uid) => ({ actuated: records.actuated(uid), conditions: decisions().resizes.conditions(uid) }) };
}
