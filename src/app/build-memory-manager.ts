import { machineMemory } from '../kubelet/memory-manager/machine-memory.ts';
import { MemoryManager } from '../kubelet/memory-manager/memory-manager.ts';
import { MemoryStateFile } from '../kubelet/memory-manager/memory-state-file.ts';
import { reservedBytes } from '../kubelet/memory-manager/reserved-memory.ts';
import { nodeReservation } from '../kubelet/node/status/node-resources.ts';
import type { MachineTopology } from '../kubelet/topology/machine-topology.ts';
import type { AgentParts } from './agent.ts';
import type { AgentFacts } from './agent-facts.ts';

/**
 * The memory manager; `undefined` for the policy None, of which only the checkpoint is written, as kubelet does. Rejects with
 * kubelet's message if the configuration or the checkpoint does not fit the machine.
 */
export async function buildMemoryManager(
  { host: { fs }, settings: { rootDir, memoryManager }, node }: AgentParts,
  { machine }: AgentFacts,
  readTopology: () => Promise<MachineTopology>,
): Promise<MemoryManager | undefined> {
  if (!memoryManager) return undefined;
  if (memoryManager.policy === 'None') {
    const file = await MemoryStateFile.read({ fs, rootDir }, memoryManager.policy);
    await file.flush();
    return undefined;
  }
  const topology = await readTopology();
  const kept = node ? nodeReservation(machine, node) : new Map();
  const reserved = reservedBytes(memoryManager.reserved, kept, topology);
  return MemoryManager.start({ fs, rootDir, machine: machineMemory(topology, reserved) });
}
