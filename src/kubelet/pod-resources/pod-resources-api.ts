import type { Container, Pod } from '../../api/generated/core-v1.ts';
import type {
  AllocatableResourcesResponse,
  ContainerDevices,
  ContainerMemory,
  ContainerResources,
  DynamicResource,
  GetPodResourcesRequest,
  PodResources,
} from '../../plugins/generated/podresources-v1.ts';
import type { PodResourcesService } from '../../plugins/pod-resources/pod-resources-service.ts';
import { isSidecar } from '../pod/restart-rules.ts';
import type { AllocatedResources, AssignedClaim, AssignedDevices, MemoryBlock } from './allocated-resources.ts';

/** The pods of the node, as kubelet's pod manager has them. */
export interface ListedPods {
  /** All desired pods. */
  all(): readonly Pod[];
  /** The pods that may still have running containers. */
  active(): readonly Pod[];
}

export interface PodResourcesDeps {
  readonly pods: ListedPods;
  readonly allocated: AllocatedResources;
  /** The feature gate KubeletPodResourcesListUseActivePods. Off: `List` has terminated pods too. */
  readonly listsActivePods: boolean;
}

/** kubelet's pod resources API: which resources of the machine the containers were assigned. */
export function podResourcesApi({ pods, allocated, listsActivePods }: PodResourcesDeps): PodResourcesService {
  return {
    list: () => ({
      podResources: (listsActivePods ? pods.active() : pods.all()).map((pod) => podResources(pod, allocated)),
    }),
    get: (request) => ({ podResources: podResources(requirePod(request, pods), allocated) }),
    getAllocatableResources: () => allocatableResources(allocated),
    listAlpha: () => ({ podResources: pods.all().map((pod) => alphaPodResources(pod, allocated)) }),
  };
}

function requirePod({ podName, podNamespace }: GetPodResourcesRequest, pods: ListedPods): Pod {
  const found = pods
    .active()
    .find(({ metadata: { name, namespace } }) => name === podName && namespace === podNamespace);
  if (!found) throw new Error(`pod ${podName} in namespace ${podNamespace} not found`);
  return found;
}

/** Init containers that end before the others start have no resources of their own. */
function podResources(pod: Pod, allocated: AllocatedResources): PodResources {
  const { name, namespace = '' } = pod.metadata;
  const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar);
  const containers = [...sidecars, ...pod.spec.containers];
  return { name, namespace, containers: containers.map((each) => containerResources(pod, each, allocated)) };
}

function containerResources(pod: Pod, { name }: Container, allocated: AllocatedResources): ContainerResources {
  const { uid } = pod.metadata;
  return {
    name,
    devices: allocated.devices(uid, name).flatMap(deviceMessages),
    cpuIds: allocated.cpus(uid, name).map(BigInt),
    memory: allocated.memory(uid, name).map(memoryMessage),
    dynamicResources: allocated.claims(pod, name).map(claimMessage),
  };
}

/** The first version of the API has main containers and devices alone. */
function alphaPodResources(pod: Pod, allocated: AllocatedResources): PodResources {
  const { name, namespace = '', uid } = pod.metadata;
  const containers = pod.spec.containers.map((container) => ({
    name: container.name,
    devices: allocated
      .devices(uid, container.name)
      .flatMap(deviceMessages)
      .map((device) => ({ ...device, topology: undefined })),
    cpuIds: [],
    memory: [],
    dynamicResources: [],
  }));
  return { name, namespace, containers };
}

function allocatableResources(allocated: AllocatedResources): AllocatableResourcesResponse {
  const { devices, cpus, memory } = allocated.allocatable();
  return { devices: devices.flatMap(deviceMessages), cpuIds: cpus.map(BigInt), memory: memory.map(memoryMessage) };
}

/** One message for each device on each of its NUMA nodes, as in kubelet. */
function deviceMessages({ resourceName, deviceIds, numaNodes }: AssignedDevices): readonly ContainerDevices[] {
  return deviceIds.flatMap((id): readonly ContainerDevices[] => {
    const device = { resourceName, deviceIds: [id] };
    if (numaNodes.length === 0) return [{ ...device, topology: undefined }];
    return numaNodes.map((node) => ({ ...device, topology: { nodes: [{ ID: BigInt(node) }] } }));
  });
}

function memoryMessage({ type, bytes, numaNodes }: MemoryBlock): ContainerMemory {
  return {
    memoryType: type,
    size: BigInt(bytes),
    topology: { nodes: numaNodes.map((node) => ({ ID: BigInt(node) })) },
  };
}

function claimMessage({ claimName, claimNamespace, resources }: AssignedClaim): DynamicResource {
  return {
    claimName,
    claimNamespace,
    claimResources: resources.map(({ cdiDevices, driverName, poolName, deviceName, shareId = '' }) => ({
      cdiDevices: cdiDevices.map((name) => ({ name })),
      driverName,
      poolName,
      deviceName,
      shareId,
    })),
  };
}
