// The current time that a template is given.
#pragma once

namespace kinglet::jinja {

struct Now {
  int year = 2024;
  int month = 7;  // 1 to 12
  int day = 26;
  int hour = 0;
  int minute = 0;
  int second = 0;
};

// Returns the time of this place.
Now local_time();

}  // namespace kinglet::jinja
