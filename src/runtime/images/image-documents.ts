import { digestOf } from '../storage/digest.ts';

/** A document of an image as the bytes that it is known by. */
export function documentBytes(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** How such a document points to other bytes. */
export function describeBytes(
  mediaType: string,
  data: Uint8Array,
): { readonly mediaType: string; readonly digest: string; readonly size: number } {
  return { mediaType, digest: digestOf(data), size: data.byteLength };
}
