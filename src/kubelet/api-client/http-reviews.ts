import type { SubjectAccessReviewStatus, TokenReviewStatus } from '../../api/generated/core-v1.ts';
import type { ApiReviews } from './api-reviews.ts';
import type { HttpCalls } from './http-calls.ts';
import { asObject } from './wire-objects.ts';

/** A review is created like an object; the response has the result in its status, and nothing is stored. */
export function createReviews(calls: Pick<HttpCalls, 'call'>): ApiReviews {
  const review = async (group: string, kind: string, spec: object, signal: AbortSignal) => {
    const apiVersion = `${group}/v1`;
    const path = `/apis/${apiVersion}/${kind.toLowerCase()}s`;
    const call = { method: 'POST', path, body: { apiVersion, kind, spec }, isRepeatable: true } as const;
    return asObject(asObject(await calls.call(call, signal))['status']);
  };
  return {
    reviewToken: (spec, signal): Promise<TokenReviewStatus> =>
      review('authentication.k8s.io', 'TokenReview', spec, signal),
    async reviewAccess(spec, signal): Promise<SubjectAccessReviewStatus> {
      const status = await review('authorization.k8s.io', 'SubjectAccessReview', spec, signal);
      return { ...status, allowed: status['allowed'] === true };
    },
  };
}
