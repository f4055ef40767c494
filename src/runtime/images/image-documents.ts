import { digestOf } from '../storage/digest.ts';

/** Encodes a JSON document of an image; its digest is of these bytes. */
export function encodeDocument(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** Returns the descriptor of the bytes. */
export function descriptorOf(
  mediaType: string,
  data: Uint8Array,
): { readonly mediaType: string; readonly digest: string; readonly size: number } {
  return { mediaType, digest: digestOf(data), size: data.byteLength };
}
