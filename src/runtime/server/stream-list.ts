import {
  StreamContainerStatsResponse,
  StreamContainersResponse,
  StreamImagesResponse,
  StreamPodSandboxesResponse,
  StreamPodSandboxMetricsResponse,
  StreamPodSandboxStatsResponse,
} from '../../cri/generated/runtime-v1.ts';
import type { ImageService, RuntimeService, ServerStream, Unary } from '../../cri/services.ts';

/** Far below gRPC's limit of 16 MiB, even if each item has the annotations of a large pod. */
const ITEMS_PER_MESSAGE = 64;

/** Streaming calls of the runtime service: each returns the result of its list call in batches. */
export type StreamCalls = Pick<
  RuntimeService,
  | 'streamPodSandboxes'
  | 'streamContainers'
  | 'streamContainerStats'
  | 'streamPodSandboxStats'
  | 'streamPodSandboxMetrics'
>;

export type ListCalls = Pick<
  RuntimeService,
  'listPodSandbox' | 'listContainers' | 'listContainerStats' | 'listPodSandboxStats' | 'listPodSandboxMetrics'
>;

export function streamCalls(list: ListCalls): StreamCalls {
  return {
    streamPodSandboxes: inBatches(list.listPodSandbox, ({ items }) =>
      batches(items, (podSandboxes) => StreamPodSandboxesResponse.create({ podSandboxes })),
    ),
    streamContainers: inBatches(list.listContainers, ({ containers }) =>
      batches(containers, (batch) => StreamContainersResponse.create({ containers: batch })),
    ),
    streamContainerStats: inBatches(list.listContainerStats, ({ stats }) =>
      batches(stats, (containerStats) => StreamContainerStatsResponse.create({ containerStats })),
    ),
    streamPodSandboxStats: inBatches(list.listPodSandboxStats, ({ stats }) =>
      batches(stats, (podSandboxStats) => StreamPodSandboxStatsResponse.create({ podSandboxStats })),
    ),
    streamPodSandboxMetrics: inBatches(list.listPodSandboxMetrics, ({ podMetrics }) =>
      batches(podMetrics, (podSandboxMetrics) => StreamPodSandboxMetricsResponse.create({ podSandboxMetrics })),
    ),
  };
}

/** Streaming call of the image service. */
export function streamImages(listImages: ImageService['listImages']): ImageService['streamImages'] {
  return inBatches(listImages, ({ images }) =>
    batches(images, (batch) => StreamImagesResponse.create({ images: batch })),
  );
}

function inBatches<Request, Whole, Batch>(
  list: Unary<Request, Whole>,
  divide: (whole: Whole) => Iterable<Batch>,
): ServerStream<Request, Batch> {
  return async function* (request, signal) {
    for (const batch of divide(await list(request, signal))) {
      signal.throwIfAborted();
      yield batch;
    }
  };
}

function* batches<Item, Batch>(items: readonly Item[], make: (items: Item[]) => Batch): Generator<Batch> {
  for (let start = 0; start < items.length; start += ITEMS_PER_MESSAGE) {
    yield make(items.slice(start, start + ITEMS_PER_MESSAGE));
  }
}
