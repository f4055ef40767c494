import type {
  AllocatableResourcesResponse,
  GetPodResourcesRequest,
  GetPodResourcesResponse,
  ListPodResourcesResponse,
} from '../generated/podresources-v1.ts';

/** The pod resources API. A thrown error is the answer of the call, with its message. */
export interface PodResourcesService {
  list(): ListPodResourcesResponse;
  get(request: GetPodResourcesRequest): GetPodResourcesResponse;
  getAllocatableResources(): AllocatableResourcesResponse;
  /** `List` of v1alpha1, whose messages are the first fields of those of v1. */
  listAlpha(): ListPodResourcesResponse;
}
