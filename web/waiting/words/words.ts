// Every word of the visitor's pages, in one language. Fixed words are put into the pages when they are built; the ones in
// `Spoken` have a number in them or appear later, so the script gets them too (and the server the estimate and the marks).

export interface Spoken {
  etaUnder: string; // less than a minute
  etaRange: string; // {low} and {high} are minutes
  etaHour: string; // between one hour and two
  etaHours: string; // {hours}, two or more
  etaDay: string; // a day or more
  etaUnknown: string;
  title: string; // of the window; {rank}
  called: string; // title and announcement when the turn has come
  updated: string; // {time}
  spoken: string; // for screen readers; {rank} and {eta}
}

export interface Words {
  mark: string; // between groups of three digits
  markFrom: number; // numbers with fewer digits have no mark
  spoken: Spoken;

  // in line
  heading: string;
  lead: string;
  place: string;
  people: string;
  estimate: string;
  message: string;
  paused: string;
  stale: string;
  stuck: string;
  slower: string;
  returned: string;
  offline: string;
  unreachable: string;
  closedNow: string;
  lost: string;
  again: string; // link that joins anew
  leave: string;
  leaveWarning: string;
  leaveConfirm: string;

  // the other pages
  busyHeading: string;
  busyText: string;
  busyKept: string;
  closedHeading: string;
  closedText: string;
  closedKept: string;
  unavailableHeading: string;
  unavailableText: string;
  leftHeading: string;
  leftText: string;
  leftLink: string;
  cookiesHeading: string;
  cookiesText: string;
  cookiesWhy: string;
  unprocessedHeading: string;
  unprocessedText: string;
  unprocessedFirst: string;
  unprocessedThen: string;
  unprocessedLink: string;
  retry: string; // link: try again now
}
