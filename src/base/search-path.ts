/** Debian's folders of programs, whatever PATH we were given: after plain `su` it lacks the administrator's. */
export const SEARCH_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
