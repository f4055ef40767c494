/** Debian's default PATH, independent of our own: after plain `su` that lacks the sbin directories. */
export const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
