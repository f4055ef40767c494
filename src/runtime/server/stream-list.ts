import {
  StreamContainerStatsResponse,
  StreamContainersResponse,
  StreamImagesResponse,
  StreamPodSandboxesResponse,
  StreamPodSandboxMetricsResponse,
  StreamPodSandboxStatsResponse,
} from '../../cri/generated/runtime-v1.ts';
import type { ImageService, RuntimeService, ServerStream, Unary } from '../../cri/services.ts';

/** So many in a message: far below gRPC's limit of 16 MiB even where each has the annotations of a large pod. */
const ITEMS_PER_MESSAGE = 64;

/** The streaming calls of the runtime service: each answers what its list call does, in portions. */
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
    streamPodSandboxes: streamed(list.listPodSandbox, ({ items }) =>
      portions(items, (podSandboxes) => StreamPodSandboxesResponse.create({ podSandboxes })),
    ),
    streamContainers: streamed(list.listContainers, ({ containers }) =>
      portions(containers, (portion) => StreamContainersResponse.create({ containers: portion })),
    ),
    streamContainerStats: streamed(list.listContainerStats, ({ stats }) =>
      portions(stats, (containerStats) => StreamContainerStatsResponse.create({ containerStats })),
    ),
    streamPodSandboxStats: streamed(list.listPodSandboxStats, ({ stats }) =>
      portions(stats, (podSandboxStats) => StreamPodSandboxStatsResponse.create({ podSandboxStats })),
    ),
    streamPodSandboxMetrics: streamed(list.listPodSandboxMetrics, ({ podMetrics }) =>
      portions(podMetrics, (podSandboxMetrics) => StreamPodSandboxMetricsResponse.create({ podSandboxMetrics })),
    ),
  };
}

/** The same for the image service. */
export function streamImages(listImages: ImageService['listImages']): ImageService['streamImages'] {
  return streamed(listImages, ({ images }) =>
    portions(images, (portion) => StreamImagesResponse.create({ images: portion })),
  );
}

function streamed<Request, Whole, Portion>(
  list: Unary<Request, Whole>,
  divide: (whole: Whole) => Iterable<Portion>,
): ServerStream<Request, Portion> {
  return async function* (request, signal) {
    for (const portion of divide(await list(request, signal))) {
      signal.throwIfAborted();
      yield portion;
    }
  };
}

function* portions<Item, Portion>(items: readonly Item[], make: (items: Item[]) => Portion): Generator<Portion> {
  for (let start = 0; start < items.length; start += ITEMS_PER_MESSAGE) {
    yield make(items.slice(start, start + ITEMS_PER_MESSAGE));
  }
}
